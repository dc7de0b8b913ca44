// SPDX-License-Identifier: Apache-2.0
// A command that was run before, or is only asked what it would do.
#include "tests/cli/cli_fixture.h"
#include "tests/support/places.h"

#include <doctest/doctest.h>

#include <chrono>

using namespace shardscope;
using namespace shardscope::test;
using Json = nlohmann::json;
namespace fs = std::filesystem;

TEST_CASE("a dry run fails where the run would")
{
    const TemporaryFolder folder;
    const std::string source = samplePath("zero2-w2");
    const auto refuses = [&](const Words& more, int exitCode, const char* code) {
        Words words{"reshard", source, folder / "out", "-w", "3"};
        words.insert(words.end(), more.begin(), more.end());
        const Json wet = errorOf(words, exitCode, code);
        const auto before = contentOf(folder.path());
        words.emplace_back("--dry-run");
        const Json dry = errorOf(words, exitCode, code);
        CHECK(dry.at("message") == wet.at("message"));
        CHECK(contentOf(folder.path()) == before);
    };
    refuses({"--finish"}, 6, "refused");
    refuses({"--finish", "--sha256"}, 6, "refused");
    refuses({"--memory-limit", "1K"}, 2, "usage");
    fs::create_directories(folder / "out/global_step6");
    refuses({}, 5, "target-exists");
    spill(folder / "out/global_step6/notes.txt", "mine");
    refuses({"--force"}, 5, "target-exists");
    fs::remove_all(folder / "out");
    // An interrupted job of another version cannot be continued, and one that runs is left alone.
    const std::string id
        = answerOf({"reshard", source, folder / "out", "-w", "3", "--dry-run"}).at("plan").at("id");
    const fs::path work = folder / ("out/.global_step6.partial-" + id);
    fs::create_directories(work);
    spill(work / "lock", "");
    spill(work / "journal", "");
    spill(work / "plan", R"({"schema":"shardscope/work/2","version":"0.0"})");
    refuses({}, 6, "refused");
    fs::remove_all(folder / "out");
    // On a file system without space, which no disk of this machine needs to be.
    const ProcessResult dry = runShardscope({"reshard", source, "/proc/shardscope", "-w", "3", "--dry-run"});
    CHECK(dry.exitCode == 5);
    CHECK(dry.err.find("not enough free space") != std::string::npos);
}

TEST_CASE("a finished job that is run again says so, and writes nothing")
{
    const TemporaryFolder folder;
    const fs::path run = copySample("zero3-w4", folder);
    spill(run / "zero_to_fp32.py", "#!/usr/bin/env python\n");
    const std::string plan = folder / "plan.json";
    answerOf({"plan", "reshard", run, folder / "planned", "-w", "3", "-o", plan});
    fs::copy(samplePath("zero2-w2"), folder / "lost", fs::copy_options::recursive);
    fs::remove(folder / "lost/global_step6/bf16_zero_pp_rank_1_mp_rank_00_optim_states.pt");
    for (const Words& words : {Words{"reshard", run, folder / "out", "-w", "3"},
             {"reshard", run, folder / "silent", "-w", "2", "--no-latest"},
             {"convert", run, folder / "universal", "--to", "universal"},
             {"convert", run, folder / "dcp", "--to", "dcp"},
             {"export", run, folder / "weights", "--format", "safetensors"}, {"run", plan},
             {"repair", folder / "lost", folder / "repaired", "--fix", "all", "--moments", "zeros"}}) {
        CAPTURE(words.front());
        const Json first = answerOf(words);
        CHECK(first.at("result").at("was_done") == false);
        const auto before = contentOf(folder.path());
        const Json again = answerOf(words).at("result");
        CHECK(again.at("was_done") == true);
        CHECK(again.at("verified") == false);
        CHECK(again.at("bytes_written") == 0);
        const ProcessResult text = runShardscope(words);
        CHECK(text.exitCode == 0);
        CHECK(text.out.find("done before") != std::string::npos);
        Words dry = words;
        dry.emplace_back("--dry-run");
        const ProcessResult shown = runShardscope(dry);
        CHECK(shown.exitCode == 0);
        CHECK(shown.out.find("an earlier run of this command has finished") != std::string::npos);
        CHECK(contentOf(folder.path()) == before);
    }
    const Words words{"reshard", run, folder / "out", "-w", "3"};
    // Another tag is the latest one, a file was lost, or the source has changed: it is not done.
    spill(folder / "out/latest", "global_step4");
    errorOf(words, 5, "target-exists");
    spill(folder / "out/latest", "global_step5");
    CHECK(answerOf(words).at("result").at("was_done") == true);
    fs::rename(folder / "out/global_step5/zero_pp_rank_1_mp_rank_00_model_states.pt", folder / "kept");
    errorOf(words, 5, "target-exists");
    fs::rename(folder / "kept", folder / "out/global_step5/zero_pp_rank_1_mp_rank_00_model_states.pt");
    CHECK(answerOf(words).at("result").at("was_done") == true);
    const fs::path changed = run / "global_step5/zero_pp_rank_1_mp_rank_00_model_states.pt";
    fs::last_write_time(changed, fs::last_write_time(changed) + std::chrono::seconds(9));
    errorOf(words, 5, "target-exists");
}
