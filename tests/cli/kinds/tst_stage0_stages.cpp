// SPDX-License-Identifier: Apache-2.0
// Pipeline stages without ZeRO, whose files do not record which layers a stage has.
#include "tests/cli/cli_fixture.h"
#include "tests/support/json_schema.h"
#include "tests/support/places.h"

#include <doctest/doctest.h>

using namespace shardscope;
using namespace shardscope::test;
namespace fs = std::filesystem;
using Json = nlohmann::json;

namespace {

std::string textOf(const Json& error, const char* key)
{
    return error.at(key).get<std::string>();
}

Json fingerprintOf(const fs::path& path)
{
    return answerOf({"fingerprint", path}).at("fingerprint");
}

} // namespace

TEST_CASE("pipeline stages without ZeRO are read, drawn, exported and rewritten for other ranks")
{
    for (const char* sample :
        {"stage0-pipeline-fp32-w2", "stage0-pipeline-fp16-w2", "stage0-pipeline-bf16-w4"}) {
        CAPTURE(sample);
        const TemporaryFolder folder;
        const fs::path source = samplePath(sample);
        const Json answer = answerOf({"inspect", source});
        CHECK(answer.at("supported") == true);
        CHECK(answer.at("parallel").at("pp") == 2);
        const std::string moment
            = answerOf({"layout", source, "--address", "4.up.weight#exp_avg[0:1]"}).dump();
        CHECK(moment.find("mp_rank_01_") != std::string::npos);
        answerOf({"layout", source});
        answerOf({"export", source, folder / "weights", "--format", "safetensors"});
        const fs::path wider = folder / "wider";
        CHECK(answerOf({"reshard", source, wider, "-w", "6"}).at("result").at("verified") == true);
        CHECK(answerOf({"inspect", wider}).at("parallel").at("dp") == 3);
        CHECK(answerOf({"verify", wider, "--against", source}).at("ok") == true);
        CHECK(fingerprintOf(wider) == fingerprintOf(source));
        answerOf({"diff", wider, source});
    }
}

TEST_CASE("pipeline stages without ZeRO get stage 1 where every stage has weights of its own")
{
    const TemporaryFolder folder;
    const fs::path source = samplePath("stage0-pipeline-fp16-w2");
    const fs::path target = folder / "zero1";
    const Words words{"reshard", source, target, "-w", "4", "--stage", "1"};
    CHECK(answerOf(words).at("result").at("verified") == true);
    CHECK(answerOf({"inspect", target}).at("zero_stage") == 1);
    CHECK(answerOf({"verify", target, "--against", source}).at("ok") == true);
    const Json shared = errorOf(
        {"reshard", samplePath("stage0-pipeline-fp32-w2"), folder / "shared", "-w", "4", "--stage", "1"}, 4,
        "unsupported");
    CHECK(textOf(shared, "message").find("tied_modules.layer_00.weight") != std::string::npos);
    errorOf({"reshard", source, folder / "three", "-w", "4", "--stage", "3"}, 4, "unsupported");
    CHECK(!fs::exists(folder / "shared"));
    const fs::path merged = folder / "merged";
    for (const char* sample : {"stage0-pipeline-fp32-w2", "stage0-pipeline-fp16-w2"}) {
        CAPTURE(sample);
        fs::remove_all(merged);
        const Words one{"reshard", samplePath(sample), merged, "-w", "2", "--pp", "1", "--stage", "1"};
        CHECK(answerOf(one).at("result").at("verified") == true);
        CHECK(answerOf({"verify", merged, "--against", samplePath(sample)}).at("ok") == true);
    }
    const Words redistributed{"reshard", source, folder / "redistributed", "-w", "3", "--pp", "3", "--stage",
        "1", "--pp-layers", "0,2,4,7", "--pp-tied", "layer_00=0,6"};
    CHECK(answerOf(redistributed).at("result").at("verified") == true);
}

TEST_CASE("BF16_Optimizer's pipeline stages without ZeRO become a checkpoint that stock loads in stage 1")
{
    const TemporaryFolder folder;
    const fs::path source = samplePath("stage0-pipeline-bf16-w4");
    CHECK(answerOf({"check", source}).dump().find("cannot-load-own-save") != std::string::npos);
    const fs::path target = folder / "out";
    CHECK(answerOf({"reshard", source, target, "-w", "4"}).at("result").at("verified") == true);
    CHECK(answerOf({"check", target}).dump().find("cannot-load-own-save") == std::string::npos);
    const fs::path merged = folder / "merged";
    CHECK(answerOf({"reshard", source, merged, "-w", "2", "--pp", "1"}).at("result").at("verified") == true);
    CHECK(answerOf({"verify", merged, "--against", source}).at("ok") == true);
}

TEST_CASE("what the files of pipeline stages without ZeRO do not record is refused by name")
{
    const TemporaryFolder folder;
    const fs::path source = samplePath("stage0-pipeline-fp16-w2");
    const Json key
        = errorOf({"convert", source, folder / "universal", "--to", "universal"}, 4, "unsupported");
    CHECK(textOf(key, "message").find("the key of the tied module") != std::string::npos);
    const Words merged{"reshard", source, folder / "one", "-w", "2", "--pp", "1"};
    CHECK(textOf(errorOf(merged, 4, "unsupported"), "message").find("pipeline stages without ZeRO")
        != std::string::npos);
    const fs::path run = copySample("stage0-pipeline-fp16-w2", folder);
    fs::remove(run / "global_step3/layer_03-model_states.pt");
    const Json layers = errorOf({"reshard", run, folder / "two", "-w", "4"}, 4, "unsupported");
    CHECK(textOf(layers, "message").find("no choice of consecutive layers and tied modules fits")
        != std::string::npos);
}

TEST_CASE("pipeline stages with more tied modules than the search orders are refused, not guessed")
{
    const fs::path source = fs::path(sourceFolder()) / "tests/data/tied_stages/run";
    const Json inspected = answerOf({"inspect", source});
    CHECK(inspected.at("supported") == false);
    CHECK(inspected.at("why_not").get<std::string>().find("too many") != std::string::npos);
    const TemporaryFolder folder;
    const Json refused = errorOf({"reshard", source, folder / "out", "-w", "4"}, 4, "unsupported");
    CHECK(textOf(refused, "message").find("too many") != std::string::npos);
    CHECK_FALSE(fs::exists(folder / "out"));
}
