// SPDX-License-Identifier: Apache-2.0
// The table of bad input: verb by verb the exit code, an error in words, and nothing written.
#include "tests/cli/cli_fixture.h"

#include <doctest/doctest.h>

using namespace shardscope;
using namespace shardscope::test;
namespace fs = std::filesystem;
using Json = nlohmann::json;

namespace {

const std::string kOptim3 = "global_step5/bf16_zero_pp_rank_3_mp_rank_00_optim_states.pt";
const std::string kOptim0 = "global_step5/bf16_zero_pp_rank_0_mp_rank_00_optim_states.pt";
const std::string kName = "layers.0.attention.wo.weight";

/// One row of the table: the exit codes of the four columns.
struct Row {
    int inspect = 0;
    int model = 0;
    int verify = 0;
    int write = 0;
};

/// Runs one verb and checks its exit code; the object it printed.
Json runVerb(Words words, int exitCode)
{
    words.emplace_back("--json");
    const ProcessResult result = runShardscope(words);
    CAPTURE(words[0]);
    CAPTURE(result.out.substr(0, 1500));
    CHECK(result.exitCode == exitCode);
    const Json object = Json::parse(result.out, nullptr, false);
    REQUIRE(object.is_object());
    CHECK((object.at("schema") == "shardscope/error/1") == (exitCode > 1));
    return object;
}

void checkRow(const fs::path& path, const Row& row, const TemporaryFolder& folder)
{
    CAPTURE(path);
    const auto before = contentOf(folder.path());
    for (const char* const verb : {"inspect", "files"})
        runVerb({verb, path}, row.inspect);
    runVerb({"params", path}, row.model);
    runVerb({"layout", path}, row.model);
    runVerb({"show", path, kName}, row.model);
    runVerb({"verify", path}, row.verify);
    runVerb({"fingerprint", path}, row.write); // damaged data has no digest
    runVerb({"reshard", path, folder / "out", "-w", "2"}, row.write);
    runVerb({"reshard", path, folder / "out", "-w", "2", "--dry-run"}, row.write);
    runVerb({"plan", "reshard", path, folder / "out", "-w", "2", "-o", folder / "plan"}, row.write);
    CHECK(contentOf(folder.path()) == before); // nothing was written
}

bool hasFinding(const fs::path& path, const std::string& code)
{
    const Json answer = runVerb({"inspect", path}, 0);
    for (const Json& finding : answer.at("findings")) {
        if (finding.at("code") == code)
            return true;
    }
    MESSAGE(answer.at("findings").dump());
    return false;
}

constexpr Row kNothingHere{3, 3, 3, 3};
constexpr Row kOneFileBad{0, 0, 1, 6};

} // namespace

TEST_CASE("input that is not a checkpoint")
{
    const TemporaryFolder folder;
    fs::create_directory(folder / "empty");
    checkRow(folder / "empty", kNothingHere, folder);
    checkRow(folder / "absent", kNothingHere, folder);
    fs::create_directory(folder / "foreign");
    spill(folder / "foreign/notes.txt", "hello");
    checkRow(folder / "foreign", kNothingHere, folder);
    checkRow(folder / "foreign/notes.txt", kNothingHere, folder);
}

TEST_CASE("latest is missing or dangling")
{
    const TemporaryFolder folder;
    const fs::path run = copySample("zero2-w2", folder);
    constexpr Row kNoTag{0, 3, 3, 3};
    fs::remove(run / "latest");
    checkRow(run, kNoTag, folder);
    CHECK(hasFinding(run, "latest-missing"));
    CHECK(answerOf({"inspect", run}).at("tag").is_null());
    const Json error = errorOf({"params", run}, 3, "not-found");
    CHECK(error.at("hint").get<std::string>().find("global_step6") != std::string::npos);
    answerOf({"params", run, "--tag", "global_step6"});
    errorOf({"params", run, "--tag", "global_step7"}, 3, "not-found");
    for (const std::string target : {"global_step99", "../../etc", ""}) {
        spill(run / "latest", target);
        checkRow(run, kNoTag, folder);
        CHECK(hasFinding(run, "latest-dangling"));
    }
}

TEST_CASE("a rank's file is missing")
{
    const TemporaryFolder folder;
    const fs::path run = copySample("zero3-w4", folder);
    fs::remove(run / kOptim3);
    checkRow(run, kOneFileBad, folder);
    CHECK(hasFinding(run, "rank-missing"));
    CHECK(errorOf({"reshard", run, folder / "out", "-w", "2"}, 6, "refused")
              .at("message")
              .get<std::string>()
              .find("rank-missing")
        != std::string::npos);
    // Values of rank 3 are null; the rest is shown.
    const Json values = answerOf({"show", run, kName, "--limit", "100000"}).at("values");
    size_t missing = 0;
    for (const Json& value : values)
        missing += value.is_null() ? 1 : 0;
    CHECK(missing == values.size() / 4);
    bool listed = false;
    const Json files = answerOf({"files", run}).at("files");
    for (const Json& file : files)
        listed = listed
            || ("global_step5/" + file.at("path").get<std::string>() == kOptim3
                && file.at("status") == "missing");
    CHECK(listed);
    fs::remove(folder / "npy");
    errorOf({"show", run, kName, "--npy", folder / "npy"}, 6, "refused");
    CHECK(!fs::exists(folder / "npy"));
}

TEST_CASE("a rank's file is from another step")
{
    const TemporaryFolder folder;
    const fs::path run = copySample("zero2-w2", folder);
    const std::string name = "bf16_zero_pp_rank_1_mp_rank_00_optim_states.pt";
    fs::copy_file(
        run / "global_step3" / name, run / "global_step6" / name, fs::copy_options::overwrite_existing);
    checkRow(run, kOneFileBad, folder);
}

TEST_CASE("one file is truncated or malicious")
{
    const TemporaryFolder folder;
    const fs::path run = copySample("zero3-w4", folder);
    const std::string whole = slurp(run / kOptim3);
    for (const std::string& bytes :
        {whole.substr(0, whole.size() / 2), std::string(), std::string(1000, 'x')}) {
        CAPTURE(bytes.size());
        spill(run / kOptim3, bytes);
        checkRow(run, kOneFileBad, folder);
    }
}

TEST_CASE("a flipped byte is found by verify, and no result is made from it")
{
    const TemporaryFolder folder;
    const fs::path run = copySample("zero3-w4", folder);
    const Json fragments = answerOf({"layout", run, "--rank", "dp1"}).at("fragments");
    REQUIRE(!fragments.empty());
    const fs::path file = run / "global_step5" / fragments[0].at("file").get<std::string>();
    std::string bytes = slurp(file);
    bytes[fragments[0].at("byte_offset").get<size_t>()] ^= 1;
    spill(file, bytes);
    answerOf({"inspect", run});
    const Json verified = answerOf({"verify", run}, 1);
    REQUIRE(verified.at("problems").size() == 1);
    CHECK(verified.at("problems")[0].at("code") == "record-corrupt");
    errorOf({"reshard", run, folder / "out", "-w", "2"}, 6, "refused");
    CHECK(!fs::exists(folder / "out/global_step5"));
    CHECK(!fs::exists(folder / "out/latest"));
}

TEST_CASE("a recognised kind that this build cannot interpret")
{
    const TemporaryFolder folder;
    spill(folder / "nvme/zero_stage_3/float32params/rank0/0_param.tensor.swp", std::string(4096, '\0'));
    checkRow(folder / "nvme", {0, 4, 4, 4}, folder);
    const Json answer = answerOf({"inspect", folder / "nvme"});
    CHECK(answer.at("supported") == false);
    CHECK(answer.at("kind") == "swap");
    CHECK(!answer.at("why_not").get<std::string>().empty());
    CHECK(answerOf({"files", folder / "nvme"}).at("supported") == false);

    const fs::path experts = copySample("zero2-w2", folder);
    fs::copy_file(experts / "global_step6/mp_rank_00_model_states.pt",
        experts / "global_step6/expert_0_mp_rank_00_model_states.pt"); // the form before 0.6.0
    checkRow(experts, {0, 4, 4, 4}, folder);
}

TEST_CASE("circular links")
{
    const TemporaryFolder folder;
    fs::create_symlink(folder / "loop", folder / "loop");
    for (const char* const verb : {"inspect", "params", "verify"})
        runVerb({verb, folder / "loop"}, 3);
    const fs::path run = copySample("zero2-w2", folder);
    fs::create_directory_symlink(run, run / "self");
    CHECK(answerOf({"inspect", run}).at("tag") == "global_step6");
}
