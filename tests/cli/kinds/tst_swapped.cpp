// SPDX-License-Identifier: Apache-2.0
// Every verb on a checkpoint of NVMe offload gives the same as on its original sample.
#include "tests/cli/cli_fixture.h"
#include "tests/support/swapped_checkpoint.h"

#include <doctest/doctest.h>

using namespace shardscope::test;
namespace fs = std::filesystem;
using Json = nlohmann::json;

namespace {

constexpr const char* kSample = "zero3-w4";
constexpr const char* kParam = "tok_embeddings.weight";

fs::path swappedSample(const TemporaryFolder& folder)
{
    const fs::path run = copySample(kSample, folder);
    swapOut(run / "global_step5", {.subgroups = {0, 1, 2}});
    return run;
}

} // namespace

TEST_CASE("every verb reads a checkpoint of NVMe offload")
{
    const TemporaryFolder folder;
    const fs::path run = swappedSample(folder);
    const Json inspected = answerOf({"inspect", run});
    CHECK(inspected.at("supported") == true);
    CHECK(inspected.at("complete") == true);
    for (const Json& finding : inspected.at("findings"))
        CHECK_MESSAGE(finding.at("severity") == "info", finding.dump());
    size_t swapFiles = 0;
    const Json listed = answerOf({"files", run, "--records"});
    for (const Json& file : listed.at("files")) {
        if (file.at("role") != "swap")
            continue;
        ++swapFiles;
        CHECK(file.at("status") == "ok");
        CHECK(file.at("path").get<std::string>().starts_with("offloaded_tensors/rank0"));
        CHECK(file.at("zip_records").empty());
    }
    CHECK(swapFiles == 3 * 3 * 4);
    for (const std::string state : {"fp32", "exp_avg", "exp_avg_sq"}) {
        CAPTURE(state);
        const std::string address = std::string(kParam) + "#" + state;
        const Json here = answerOf({"show", run, address});
        const Json there = answerOf({"show", samplePath(kSample), address});
        CHECK(here.at("values") == there.at("values"));
    }
    const Json layout = answerOf({"layout", run, "--param", kParam});
    REQUIRE(!layout.at("fragments").empty());
    for (const Json& fragment : layout.at("fragments")) {
        const std::string state = fragment.at("state");
        const std::string file = fragment.at("file");
        CHECK(file.ends_with(".tensor.swp"));
        CHECK((file.find("/" + state + "-") != std::string::npos) == (state != "fp32"));
        CHECK(fragment.at("record").is_null());
        CHECK(fragment.at("byte_offset") == fragment.at("flat_offset").get<uint64_t>() * 4);
    }
    CHECK(answerOf({"verify", run}).at("ok") == true);
    CHECK(answerOf({"verify", run, "--against", samplePath(kSample)}).at("ok") == true);
    const auto text = runShardscope({"layout", run, "--param", kParam});
    CHECK(text.out.find("offloaded_tensors/rank00/exp_avg-") != std::string::npos);
}

TEST_CASE("a checkpoint of NVMe offload is completed in one pass, and the source stays the same")
{
    const TemporaryFolder folder;
    const fs::path run = swappedSample(folder);
    const auto before = contentOf(run);
    const Json truth = answerOf({"verify", samplePath(kSample)});
    for (const char* ranks : {"1", "3", "4"}) {
        CAPTURE(std::string(ranks));
        const fs::path target = folder / (std::string("to") + ranks);
        answerOf({"reshard", run, target, "--world-size", ranks});
        CHECK(!fs::exists(target / "global_step5/offloaded_tensors"));
        const Json verified = answerOf({"verify", target, "--against", run});
        CHECK(verified.at("ok") == true);
        CHECK(verified.at("fingerprint") == truth.at("fingerprint"));
    }
    const fs::path universal = folder / "universal";
    answerOf({"convert", run, universal, "--to", "universal"});
    CHECK(answerOf({"verify", universal, "--against", samplePath(kSample)}).at("ok") == true);
    CHECK(contentOf(run) == before);
}

TEST_CASE("a run's swap folder is given with --root, and is reported when opened alone")
{
    const TemporaryFolder folder;
    const fs::path run = swappedSample(folder);
    makeLive(run / "global_step5", folder / "nvme");
    for (const auto& entry : fs::directory_iterator(run / "global_step5"))
        fs::last_write_time(entry.path(), fs::file_time_type::clock::now() + std::chrono::hours(1));
    errorOf({"reshard", run, folder / "refused", "--world-size", "2"}, 6, "refused");
    CHECK(!fs::exists(folder / "refused"));
    answerOf({"reshard", run, folder / "to2", "--world-size", "2", "--root", folder / "nvme"});
    CHECK(answerOf({"verify", folder / "to2", "--against", samplePath(kSample)}).at("ok") == true);
    answerOf({"plan", "reshard", run, folder / "later", "--world-size", "3", "--root", folder / "nvme", "-o",
        folder / "plan.json"});
    answerOf({"run", folder / "plan.json"});
    CHECK(answerOf({"verify", folder / "later", "--against", samplePath(kSample)}).at("ok") == true);

    const Json alone = answerOf({"inspect", folder / "nvme"});
    CHECK(alone.at("supported") == false);
    CHECK(alone.at("why_not").get<std::string>().find("--root") != std::string::npos);
    errorOf({"reshard", folder / "nvme", folder / "no", "--world-size", "2"}, 4, "unsupported");
}
