// SPDX-License-Identifier: Apache-2.0
// Rewrites into another number of tensor slices.
#include "tests/cli/cli_fixture.h"
#include "tests/support/json_schema.h"

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

} // namespace

TEST_CASE("a saved plan splits slices like the verb, and verify compares different degrees")
{
    const TemporaryFolder folder;
    const fs::path source = samplePath("megatron-w2");
    const fs::path file = folder / "plan.json";
    const Words options{"-w", "8", "--tp", "4", "--padded-vocab-size", "28"};
    Words plan{"plan", "reshard", source, folder / "out", "-o", file};
    plan.insert(plan.end(), options.begin(), options.end());
    answerOf(plan);
    const Json saved = Json::parse(slurp(file));
    CHECK(schemaErrors(readSchema("saved-plan"), saved, true).empty());
    CHECK(saved.at("options").at("tp") == 4);
    CHECK(saved.at("options").at("padded_vocab_size") == 28);
    answerOf({"run", file});
    Words direct{"reshard", source, folder / "direct"};
    direct.insert(direct.end(), options.begin(), options.end());
    const Json written = answerOf(direct);
    CHECK(written.at("result").at("verified") == true);
    CHECK(written.dump().find("layers.0.side.weight") != std::string::npos); // no pattern names it
    CHECK(contentOf(folder / "out") == contentOf(folder / "direct"));
    const Json inspected = answerOf({"inspect", folder / "out"});
    CHECK(inspected.at("parallel").at("tp") == 4);
    CHECK(inspected.at("parallel").at("dp") == 2);
    CHECK(answerOf({"verify", folder / "out"}).at("fingerprint") == written.at("result").at("fingerprint"));
    CHECK(answerOf({"verify", folder / "out", "--against", source}).at("ok") == true);
    CHECK(answerOf({"verify", source, "--against", folder / "out"}).at("ok") == true);
}

TEST_CASE("missing options for splitting slices are reported")
{
    const TemporaryFolder folder;
    const std::string source = samplePath("megatron-w2");
    const Json rows = errorOf({"reshard", source, folder / "out", "-w", "4", "--tp", "4"}, 6, "refused");
    CHECK(textOf(rows, "hint").find("--padded-vocab-size") != std::string::npos);
    const Words unrecorded{
        "reshard", source, folder / "out", "-w", "4", "--tp", "4", "--tag", "global_step2"};
    const Json names = errorOf(unrecorded, 4, "unsupported");
    CHECK(textOf(names, "hint").find("--patterns") != std::string::npos);
    errorOf({"reshard", source, folder / "out", "-w", "4", "--padded-vocab-size", "28"}, 2, "usage");
    errorOf({"reshard", source, folder / "out", "-w", "6", "--tp", "4"}, 2, "usage");
    errorOf({"reshard", source, folder / "out", "-w", "4", "--tp", "4", "--padded-vocab-size",
                "18446744073709551615"},
        2, "usage");
    errorOf({"verify", source, "--against", source, "--patterns", folder / "none"}, 3, "not-found");
    CHECK(!fs::exists(folder / "out"));
}

TEST_CASE("slices without ZeRO are read, and rewritten for other ranks, stages and numbers of slices")
{
    const TemporaryFolder folder;
    const fs::path source = samplePath("stage0-slices-w2");
    const Json inspected = answerOf({"inspect", source});
    CHECK(inspected.at("supported") == true);
    CHECK(inspected.at("zero_stage") == 0);
    CHECK(inspected.at("parallel").at("tp") == 2);
    const Words holders{"layout", source, "--address", "layers.1.dense.weight:tp1#exp_avg[0:1]"};
    CHECK(answerOf(holders).dump().find("mp_rank_01_model_states.pt") != std::string::npos);
    int number = 0;
    const auto written = [&](const Words& options) {
        const fs::path target = folder / std::to_string(number++);
        Words words{"reshard", source, target};
        words.insert(words.end(), options.begin(), options.end());
        CHECK(answerOf(words).at("result").at("verified") == true);
        CHECK(answerOf({"verify", target, "--against", source}).at("ok") == true);
        return target;
    };
    const fs::path wider = written({"-w", "6"});
    CHECK(answerOf({"inspect", wider}).at("parallel").at("dp") == 3);
    CHECK(answerOf({"fingerprint", wider}).at("fingerprint")
        == answerOf({"fingerprint", source}).at("fingerprint"));
    answerOf({"diff", wider, source});
    written({"-w", "4", "--stage", "1"});
    for (const char* stage : {"0", "1", "3"})
        CHECK(
            answerOf({"inspect", written({"-w", "2", "--tp", "1", "--stage", stage})}).at("parallel").at("tp")
            == 1);
    answerOf({"export", source, folder / "weights", "--format", "safetensors"});
    answerOf({"convert", source, folder / "universal", "--to", "universal"});
}

TEST_CASE("slices that are merged without ZeRO open as one")
{
    const TemporaryFolder folder;
    const fs::path source = samplePath("slices-w4");
    const Words words{"reshard", source, folder / "one", "-w", "2", "--tp", "1", "--stage", "0"};
    CHECK(answerOf(words).at("result").at("verified") == true);
    CHECK(answerOf({"inspect", folder / "one"}).at("parallel").at("tp") == 1);
    const Words sliced{"reshard", source, folder / "sliced", "-w", "4", "--stage", "0"};
    CHECK(answerOf(sliced).at("result").at("verified") == true);
    CHECK(answerOf({"verify", folder / "sliced", "--against", source}).at("ok") == true);
}

TEST_CASE("an optimizer file in place of a stage's model file, next to truncated ones, causes no crash")
{
    const TemporaryFolder folder;
    const std::filesystem::path run = copySample("pipeline-w4", folder);
    const std::filesystem::path tag = run / "global_step3";
    std::filesystem::remove(tag / "bf16_zero_pp_rank_0_mp_rank_00_optim_states.pt");
    std::filesystem::resize_file(tag / "bf16_zero_pp_rank_1_mp_rank_00_optim_states.pt", 100);
    std::filesystem::copy_file(tag / "bf16_zero_pp_rank_0_mp_rank_01_optim_states.pt",
        tag / "mp_rank_00_model_states.pt", std::filesystem::copy_options::overwrite_existing);
    CHECK(runShardscope({"check", run}).exitCode == 1);
    CHECK(runShardscope({"convert", run, folder / "out", "--to", "dcp"}).exitCode == 6);
}
