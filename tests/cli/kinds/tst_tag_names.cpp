// SPDX-License-Identifier: Apache-2.0
// The name of a tag is bytes: every verb works if they are not UTF-8, and the JSON has them as hex.
#include "tests/cli/cli_fixture.h"

#include <doctest/doctest.h>

using namespace shardscope;
using namespace shardscope::test;
namespace fs = std::filesystem;
using Json = nlohmann::json;

namespace {

const std::string kName = "step\xff"
                          "6";
const std::string kNameHex = "73746570ff36";

/// A copy of the sample. Its tag has the name that is not UTF-8.
fs::path renamedSample(const TemporaryFolder& folder)
{
    const fs::path run = copySample("zero2-w2", folder);
    fs::rename(run / slurp(run / "latest"), run / kName);
    spill(run / "latest", kName);
    return run;
}

void checkResult(const Json& answer, const fs::path& target, const std::string& name)
{
    CHECK(answer.at("result").at("verified") == true);
    CHECK(fs::exists(target / name / "shardscope.json"));
    CHECK(answerOf({"verify", target, "--tag", name}).at("ok") == true);
    const Json plan = Json::parse(slurp(target / name / "shardscope.json")).at("plan");
    CHECK(plan.at("source").at("tag_hex") == kNameHex);
}

} // namespace

TEST_CASE("a tag whose name is not UTF-8 is resharded, converted, repaired and exported")
{
    const TemporaryFolder folder;
    const fs::path run = renamedSample(folder);
    checkResult(answerOf({"reshard", run, folder / "a", "-w", "3"}), folder / "a", kName);
    checkResult(
        answerOf({"reshard", run, folder / "b", "-w", "3", "--tag-out", "plain"}), folder / "b", "plain");
    checkResult(
        answerOf({"convert", run, folder / "c", "--to", "universal"}), folder / "c", kName + "_universal");
    CHECK(answerOf({"convert", run, folder / "d", "--to", "dcp"}).at("result").at("verified") == true);
    CHECK(answerOf({"export", run, folder / "e", "--format", "safetensors"}).at("result").at("verified")
        == true);
    CHECK(Json::parse(slurp(folder / "e/shardscope.json")).at("plan").at("source").at("tag_hex") == kNameHex);
    answerOf({"skeleton", run, folder / "f.zip"});

    fs::remove(run / kName / "bf16_zero_pp_rank_1_mp_rank_00_optim_states.pt");
    CHECK(
        answerOf({"repair", run, folder / "g", "--fix", "rank-missing"}).at("result").at("verified") == true);
    CHECK(slurp(folder / "g/latest") == kName);
    answerOf({"repair", folder / "g", folder / "h", "--undo"});
    CHECK(fs::exists(folder / "h" / kName));
}

TEST_CASE("a saved plan of a tag whose name is not UTF-8 runs")
{
    const TemporaryFolder folder;
    const fs::path run = renamedSample(folder);
    answerOf({"plan", "reshard", run, folder / "a", "-w", "3", "-o", folder / "a.json"});
    checkResult(answerOf({"run", folder / "a.json"}), folder / "a", kName);
    answerOf({"plan", "export", run, folder / "b", "--format", "torch", "-o", folder / "b.json"});
    CHECK(answerOf({"run", folder / "b.json"}).at("result").at("verified") == true);
}
