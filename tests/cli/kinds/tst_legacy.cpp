// SPDX-License-Identifier: Apache-2.0
// Checkpoints in the form of torch before its zip files (DeepSpeed: "checkpoint_serialization": false).
#include "tests/cli/cli_fixture.h"
#include "tests/support/places.h"

#include <doctest/doctest.h>

using namespace shardscope;
using namespace shardscope::test;
namespace fs = std::filesystem;
using Json = nlohmann::json;

namespace {

const fs::path kLegacy = fs::path(sourceFolder()) / "tests/data/legacy/zero1-w2";
constexpr const char* kOptimOf1 = "zero_pp_rank_1_mp_rank_00_optim_states.pt";

size_t countOf(const Json& findings, const std::string& code)
{
    size_t count = 0;
    for (const Json& finding : findings)
        count += finding.at("code") == code ? 1 : 0;
    return count;
}

} // namespace

TEST_CASE("a legacy checkpoint answers like the zip files it was made from")
{
    const Json zip = answerOf({"inspect", samplePath("zero1-w2")});
    const Json legacy = answerOf({"inspect", kLegacy});
    for (const char* const key :
        {"kind", "parallel", "parameters", "states", "param_groups", "step", "client_state", "loss_scale"})
        CHECK(legacy.at(key) == zip.at(key));
    CHECK(legacy.at("complete") == true);
    CHECK(countOf(legacy.at("findings"), "record-unchecked") == 3);
    CHECK(answerOf({"params", kLegacy}).at("parameters")
        == answerOf({"params", samplePath("zero1-w2")}).at("parameters"));
    for (const std::string state : {"fp32", "exp_avg", "weight"}) {
        const std::string address = "layers.0.attention.wo.weight#" + state;
        CHECK(answerOf({"show", kLegacy, address}).at("values")
            == answerOf({"show", samplePath("zero1-w2"), address}).at("values"));
    }
    const Json listed = answerOf({"files", kLegacy, "--records"});
    for (const Json& file : listed.at("files")) {
        REQUIRE(file.at("zip_records").size() == file.at("records"));
        for (const Json& record : file.at("zip_records"))
            CHECK((record.at("crc32").is_null() || record.at("bytes") == 0));
    }
    CHECK(answerOf({"verify", kLegacy, "--against", samplePath("zero1-w2")}).at("ok") == true);
    CHECK(
        runShardscope({"verify", kLegacy}).out.find("CRC of every record that has one") != std::string::npos);
    CHECK(runShardscope({"verify", samplePath("zero1-w2")}).out.find("that has one") == std::string::npos);
}

TEST_CASE("output from a legacy checkpoint has the zip form and the same state")
{
    const TemporaryFolder folder;
    for (const std::string ranks : {"1", "2", "3"}) {
        const Json ours = answerOf({"reshard", kLegacy, folder / ("a" + ranks), "-w", ranks});
        const Json theirs
            = answerOf({"reshard", samplePath("zero1-w2"), folder / ("b" + ranks), "-w", ranks});
        CHECK(ours.at("result").at("fingerprint") == theirs.at("result").at("fingerprint"));
        const fs::path output = ours.at("result").at("output").get<std::string>();
        for (const Json& file : ours.at("plan").at("files"))
            CHECK(slurp(output / file.at("path").get<std::string>()).starts_with("PK\x03\x04"));
        CHECK(answerOf({"inspect", folder / ("a" + ranks)}).at("findings")
            == answerOf({"inspect", folder / ("b" + ranks)}).at("findings"));
        CHECK(answerOf({"verify", folder / ("a" + ranks), "--against", samplePath("zero1-w2")}).at("ok")
            == true);
    }
    answerOf({"reshard", kLegacy, folder / "stage3", "-w", "2", "--stage", "3"});
    answerOf({"convert", kLegacy, folder / "universal", "--to", "universal"});
    for (const std::string name : {"stage3", "universal"})
        CHECK(answerOf({"verify", folder / name}).at("ok") == true);
    CHECK(answerOf({"inspect", folder / "universal"}).at("kind") == "universal");
}

TEST_CASE("a truncated legacy file shows its remaining content and cannot be rewritten")
{
    const TemporaryFolder folder;
    const fs::path run = folder / "run";
    fs::copy(kLegacy, run, fs::copy_options::recursive);
    const fs::path file = run / "global_step7" / kOptimOf1;
    const std::string whole = slurp(file);
    spill(file, whole.substr(0, whole.size() - 100));
    const Json inspected = answerOf({"inspect", run});
    CHECK(countOf(inspected.at("findings"), "file-torn") == 1);
    CHECK(inspected.at("complete") == false);
    errorOf({"reshard", run, folder / "out", "-w", "1"}, 6, "refused");
    CHECK(answerOf({"verify", run}, 1).at("ok") == false);
}

TEST_CASE("a single legacy file lists its records")
{
    const Json inspected
        = answerOf({"files", fs::path(sourceFolder()) / "tests/data/torch/legacy.pt", "--records"});
    CHECK(inspected.at("files").at(0).at("records") == 2);
}
