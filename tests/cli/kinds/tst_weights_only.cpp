// SPDX-License-Identifier: Apache-2.0
// Checkpoints with weights and without masters and optimizer states: their weights are exported, and nothing
// else is written from them.
#include "tests/cli/cli_fixture.h"

#include <doctest/doctest.h>

using namespace shardscope;
using namespace shardscope::test;
namespace fs = std::filesystem;
using Json = nlohmann::json;

namespace {

/// A ZeRO-2 checkpoint as people publish it: without its optimizer files.
fs::path published(const TemporaryFolder& folder)
{
    const fs::path run = copySample("zero2-w2", folder);
    for (const auto& entry : fs::recursive_directory_iterator(run)) {
        if (entry.path().filename().string().ends_with("_optim_states.pt"))
            fs::remove(entry.path());
    }
    return run;
}

/// The findings above info.
Json wrongIn(const fs::path& run)
{
    Json out = Json::array();
    const Json checked = answerOf({"check", run}, 1);
    for (const Json& finding : checked.at("results").at(0).at("findings")) {
        if (finding.at("severity") != "info")
            out.push_back(finding);
    }
    return out;
}

void checkWeightsOnly(const fs::path& run, const TemporaryFolder& folder, const std::string& says)
{
    const Json wrong = wrongIn(run);
    REQUIRE(wrong.size() == 1);
    CHECK(wrong[0].at("code") == "optimizer-missing");
    CHECK(wrong[0].at("message").get<std::string>().find(says) != std::string::npos);
    CHECK(wrong[0].at("evidence").at(0) == "all weights are here, in bf16");
    CHECK(wrong[0].at("fix").is_null());
    const Json inspected = answerOf({"inspect", run});
    CHECK(inspected.at("supported") == true);
    CHECK(inspected.at("complete") == false);
    CHECK(inspected.at("states") == Json{"weight"});
    CHECK(inspected.at("parameters").at("trainable").get<int>() > 10);
    const Json exported = answerOf({"export", run, folder / "out"});
    CHECK(exported.at("result").at("verified") == true);
    CHECK(exported.at("plan").at("warnings").dump().find("no masters: the export holds its weights in bf16")
        != std::string::npos);
    const Json compared = answerOf({"diff", run, folder / "out", "--state", "weight"}, 1);
    for (const Json& difference : compared.at("differences")) // counters are in no file of weights
        CHECK(difference.at("kind") == "scalar");
    fs::remove_all(folder / "out");
    const Words dcp{"convert", run, folder / "out", "--to", "dcp"};
    errorOf(dcp, 6, "refused");
    for (Words words : {Words{"reshard", run, folder / "out", "-w", "1"},
             Words{"convert", run, folder / "out", "--to", "universal"}}) {
        CAPTURE(words[0]);
        errorOf(words, 6, "refused");
        words.insert(words.end(), {"--allow", "optimizer-missing"}); // nothing replaces what is missing
        errorOf(words, 6, "refused");
    }
    CHECK(!fs::exists(folder / "out"));
    errorOf({"fingerprint", run}, 6, "refused");
    CHECK(runShardscope({"tags", run, "--newest-complete"}).exitCode == 1);
}

} // namespace

TEST_CASE("bf16 at stage 0 of DeepSpeed 0.18.4: weights are there, the optimizer was never saved")
{
    const TemporaryFolder folder;
    checkWeightsOnly(copySample("ds0184-stage0-bf16", folder), folder, "DeepSpeed did not save masters");
}

TEST_CASE("a folder that was published without optimizer files")
{
    const TemporaryFolder folder;
    const fs::path run = published(folder);
    checkWeightsOnly(run, folder, "no optimizer file is here");
    CHECK(answerOf({"inspect", run}).at("kind") == "zero2");
}
