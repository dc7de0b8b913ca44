// SPDX-License-Identifier: Apache-2.0
// One checkpoint with ranks in several folders, as when every node saved to its own disk.
#include "tests/cli/cli_fixture.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>

using namespace shardscope;
using namespace shardscope::test;
namespace fs = std::filesystem;
using Json = nlohmann::json;

namespace {

/// A sample over run folders node0, node1, …: `node` returns the folder for a file of the tag.
std::string spread(const std::string& sample, const TemporaryFolder& folder,
    const std::function<int(const std::string& name)>& node)
{
    const std::string tag = slurp(samplePath(sample) / "latest");
    for (const auto& entry : fs::directory_iterator(samplePath(sample) / tag)) {
        const std::string name = entry.path().filename().string();
        const fs::path place = folder / ("node" + std::to_string(node(name))) / tag;
        fs::create_directories(place);
        fs::copy(entry.path(), place / name);
    }
    spill(folder / "node0/latest", tag);
    return tag;
}

int byHalf(const std::string& name)
{
    return name.find("rank_2_") != std::string::npos || name.find("rank_3_") != std::string::npos ? 1 : 0;
}

size_t countOf(const Json& answer, const std::string& code)
{
    const Json& findings = answer.at("findings");
    return static_cast<size_t>(std::count_if(
        findings.begin(), findings.end(), [&](const Json& finding) { return finding.at("code") == code; }));
}

} // namespace

TEST_CASE("ranks are found in any root, and the output holds them all")
{
    const TemporaryFolder folder;
    const std::string tag = spread("zero3-w4", folder, byHalf);
    const std::string first = folder / "node0";
    const std::string second = folder / "node1";

    const Json alone = answerOf({"inspect", first});
    CHECK(alone.at("complete") == false);
    CHECK(countOf(alone, "rank-missing") == 2);
    errorOf({"reshard", first, folder / "x", "-w", "2"}, 6, "refused");

    const Json both = answerOf({"inspect", first, "--root", second});
    const Json whole = answerOf({"inspect", samplePath("zero3-w4")});
    CHECK(both.at("complete") == true);
    CHECK(both.at("findings") == whole.at("findings"));
    CHECK(both.at("parameters") == whole.at("parameters"));
    // A root may be the tag's folder itself, and come first.
    CHECK(answerOf({"inspect", first + "/" + tag, "--root", second + "/" + tag}).at("complete") == true);

    const Json written = answerOf({"reshard", first, folder / "out", "-w", "2", "--root", second});
    const Json direct = answerOf({"reshard", samplePath("zero3-w4"), folder / "direct", "-w", "2"});
    CHECK(written.at("result").at("fingerprint") == direct.at("result").at("fingerprint"));
    for (const Json& file : written.at("plan").at("files")) {
        const auto path = file.at("path").get<std::string>();
        CHECK(slurp(folder / "out" / tag / path) == slurp(folder / "direct" / tag / path));
    }
    CHECK(answerOf({"verify", folder / "out", "--against", samplePath("zero3-w4")}).at("ok") == true);
    CHECK(answerOf({"verify", first, "--root", second}).at("ok") == true);
    answerOf({"show", first, "--root", second,
        answerOf({"params", first, "--root", second}).at("parameters").at(0).at("name")});
}

TEST_CASE("a saved plan records its roots")
{
    const TemporaryFolder folder;
    const std::string tag = spread("zero3-w4", folder, byHalf);
    answerOf({"plan", "reshard", folder / "node0", folder / "out", "-w", "3", "--root", folder / "node1",
        "-o", folder / "plan.json"});
    answerOf({"run", folder / "plan.json"});
    CHECK(answerOf({"verify", folder / "out", "--against", samplePath("zero3-w4")}).at("ok") == true);
}

TEST_CASE("one file in two roots is one file when both are the same, and a finding when they differ")
{
    const TemporaryFolder folder;
    const auto optimizerOfOne
        = [](const std::string& name) { return name.find("rank_1_") == std::string::npos ? 0 : 1; };
    const std::string tag = spread("zero1-w2", folder, optimizerOfOne);
    const std::string model = "mp_rank_00_model_states.pt";
    const fs::path copy = folder / "node1" / tag / model;
    fs::copy(folder / "node0" / tag / model, copy);
    const Words inspect{"inspect", folder / "node0", "--root", folder / "node1"};
    CHECK(answerOf(inspect).at("findings") == answerOf({"inspect", samplePath("zero1-w2")}).at("findings"));

    // A file of another run: other tensors with the same name.
    fs::remove(copy);
    fs::copy(samplePath("roundrobin-w3") / slurp(samplePath("roundrobin-w3") / "latest") / model, copy);
    const Json inspected = answerOf(inspect);
    CHECK(countOf(inspected, "rank-foreign") == 1);
    CHECK(inspected.at("complete") == false);
    const Json error = errorOf(
        {"reshard", folder / "node0", folder / "out", "-w", "1", "--root", folder / "node1"}, 6, "refused");
    CHECK(error.at("message").get<std::string>().find("rank-foreign") != std::string::npos);

    // A file that cannot be compared.
    spill(copy, "torn");
    CHECK(countOf(answerOf(inspect), "file-unreadable") == 1);
    CHECK(answerOf(inspect).at("complete") == true);
}

TEST_CASE("roots are never written to, and a missing root is an error")
{
    const TemporaryFolder folder;
    const std::string tag = spread("zero3-w4", folder, byHalf);
    const auto before = contentOf(folder / "node1");
    for (const fs::path& target :
        {folder / "node1", folder / "node1" / tag, folder / "node1" / tag / "deep"}) {
        CAPTURE(target.string());
        errorOf({"reshard", folder / "node0", target, "-w", "2", "--root", folder / "node1", "--force"}, 2,
            "usage");
        errorOf({"reshard", folder / "node0", target, "-w", "2", "--root", folder / "node1", "--dry-run"}, 2,
            "usage");
    }
    CHECK(contentOf(folder / "node1") == before);
    errorOf({"inspect", folder / "node0", "--root", folder / "nowhere"}, 3, "not-found");
}

TEST_CASE("the history of a run is read with its further folders and as its kind")
{
    const TemporaryFolder folder;
    for (const char* tag : {"global_step3", "global_step6"}) {
        for (const auto& entry : fs::directory_iterator(samplePath("zero2-w2") / tag)) {
            const std::string name = entry.path().filename().string();
            const bool isSecond = name.find("pp_rank_1") != std::string::npos;
            const fs::path place = folder / (isSecond ? "node1" : "node0") / tag;
            fs::create_directories(place);
            fs::copy(entry.path(), place / name);
        }
    }
    spill(folder / "node0/latest", "global_step6");
    const Json both
        = answerOf({"stats", folder / "node0", "--root", folder / "node1", "--health", "--history"});
    const Json whole = answerOf({"stats", samplePath("zero2-w2"), "--health", "--history"});
    CHECK(both.at("history") == whole.at("history"));
    CHECK(both.at("alarms") == whole.at("alarms"));
    // What is not of the kind that was asked for is not read as another one.
    const Json asked
        = answerOf({"stats", samplePath("zero2-universal-w2"), "--kind", "zero2", "--health", "--history"});
    for (const Json& tag : asked.at("history")) {
        const auto name = tag.at("tag").get<std::string>();
        CAPTURE(name);
        CHECK(tag.contains("error") == (name.find("universal") != std::string::npos));
    }
}

TEST_CASE("a framework's files of other nodes are found as well")
{
    const TemporaryFolder folder;
    spread("zero3-w4", folder, byHalf);
    for (int rank = 0; rank < 4; ++rank)
        spill(folder / ("node" + std::to_string(rank / 2)) / ("rng_state_" + std::to_string(rank) + ".pth"),
            "random " + std::to_string(rank));
    spill(folder / "node0/trainer_state.json", "{}");
    answerOf({"reshard", folder / "node0", folder / "out", "-w", "3", "--root", folder / "node1"});
    CHECK(slurp(folder / "out/rng_state_2.pth") == "random 2");
    CHECK_FALSE(fs::exists(folder / "out/rng_state_3.pth"));
}
