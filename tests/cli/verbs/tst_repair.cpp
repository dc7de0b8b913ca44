// SPDX-License-Identifier: Apache-2.0
// `repair` as a process: changes are shown, the copy is marked, and the source is never changed.
#include "tests/cli/cli_fixture.h"
#include "tests/support/json_schema.h"
#include "tests/support/places.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <csignal>

using namespace shardscope::test;
using Json = nlohmann::json;
namespace fs = std::filesystem;

namespace {

constexpr const char* kShard = "bf16_zero_pp_rank_1_mp_rank_00_optim_states.pt";

fs::path newestOf(const fs::path& run)
{
    return run / slurp(run / "latest");
}

/// zero2-w2 without the optimizer file of rank 1.
fs::path damaged(const TemporaryFolder& folder)
{
    const fs::path run = copySample("zero2-w2", folder);
    fs::remove(newestOf(run) / kShard);
    return run;
}

} // namespace

TEST_CASE("a repaired copy is marked, checked again, and verifies only as such")
{
    const TemporaryFolder folder;
    const fs::path run = damaged(folder);
    const auto before = contentOf(run);
    const fs::path out = folder / "out";
    const Json shown = answerOf({"repair", run, out, "--fix", "all", "--dry-run"});
    CHECK(!shown.contains("result"));
    CHECK(!fs::exists(out));

    const Json answer = answerOf({"repair", run, out, "--fix", "all"});
    CHECK(contentOf(run) == before);
    CHECK(answer.at("changes") == shown.at("changes"));
    CHECK(answer.at("fixed") == Json{"rank-missing"});
    CHECK(answer.at("check").at("ok") == true);
    CHECK(answer.at("result").at("verified") == true);

    const Json record = Json::parse(slurp(newestOf(out) / "repair.json"));
    CHECK(record.at("fixed") == Json{"rank-missing"});
    size_t marked = 0;
    for (const Json& change : record.at("changes"))
        marked += change.at("marked").get<bool>() ? 1 : 0;
    CHECK(marked == 9); // masters and two moments of three groups

    size_t shownMarks = 0;
    const Json inspected = answerOf({"inspect", out});
    for (const Json& finding : inspected.at("findings"))
        shownMarks += finding.at("code") == "marked" ? 1 : 0;
    CHECK(shownMarks == marked);
    CHECK(answerOf({"verify", out}, 1).at("problems").size() == marked);
    answerOf({"verify", out, "--allow-marked"});
    spill(newestOf(out) / "repair.json", "{}");
    answerOf({"verify", out, "--allow-marked"}, 1);
}

TEST_CASE("a check after the repair that was stopped is not reported as done")
{
    const TemporaryFolder folder;
    fs::copy(samplePath("zero2-w2"), folder / "run", fs::copy_options::recursive);
    for (const fs::directory_entry& file : fs::directory_iterator(folder / "run/global_step6")) {
        if (file.path().filename().string().find("zero_pp_rank_1_") != std::string::npos)
            fs::remove(file.path());
    }
    // The check of a small copy can end before the signal arrives. Then it is reported as done.
    int stopped = 0;
    for (int i = 0; i < 40 && stopped == 0; ++i) {
        const fs::path out = folder / ("out" + std::to_string(i));
        Process process({shardscope::programPath(), "repair", folder / "run", out, "--fix", "rank-missing",
            "--json", "-v"});
        REQUIRE(process.waitForError("checking the output again"));
        process.signal(SIGINT);
        const ProcessResult result = process.wait();
        const Json answer = Json::parse(result.out);
        CHECK(schemaErrors(readSchema("repair"), answer, true).empty());
        CAPTURE(result.exitCode);
        CHECK(answer.at("result").at("verified") == true);
        CHECK(answer.at("checked_again") == (result.exitCode != 130));
        CHECK(answer.contains("check") == (result.exitCode != 130));
        CHECK(runShardscope({"verify", out, "--allow-marked"}).exitCode == 0);
        stopped += result.exitCode == 130 ? 1 : 0;
    }
    CHECK(stopped == 1);
}

TEST_CASE("--undo gives the bytes of the source")
{
    const TemporaryFolder folder;
    const fs::path run = damaged(folder);
    for (const char* script : {"zero_to_fp32.py", "zero_to_torch.py"})
        spill(run / script, "#!/usr/bin/env python\n");
    answerOf({"repair", run, folder / "out", "--fix", "L6"});
    const Json answer = answerOf({"repair", "--undo", folder / "out", folder / "again"});
    CHECK(answer.at("plan").at("kind") == "copy");
    for (const char* script : {"zero_to_fp32.py", "zero_to_torch.py"})
        CHECK(slurp(folder / "again" / script) == slurp(run / script));
    for (const auto& entry : fs::directory_iterator(newestOf(run)))
        CHECK(slurp(newestOf(folder / "again") / entry.path().filename()) == slurp(entry.path()));
    errorOf({"repair", "--undo", run, folder / "x"}, 3, "not-a-checkpoint");
    errorOf({"repair", "--undo", folder / "out", folder / "x", "--fix", "F1"}, 3, "not-found");
}

TEST_CASE("a repair of `latest` is planned again from the run folder: undone, and run from a saved plan")
{
    const TemporaryFolder folder;
    const fs::path run = copySample("zero2-w2", folder);
    const std::string tag = slurp(run / "latest");
    const fs::path file = folder / "plan.json";
    for (const bool dangles : {false, true}) {
        CAPTURE(dangles);
        fs::remove(run / "latest");
        if (dangles)
            spill(run / "latest", "global_step99");
        const std::string suffix = dangles ? "-dangling" : "-missing";
        const std::string fix = "latest" + suffix;
        answerOf({"plan", "repair", run, folder / ("out" + suffix), "--fix", fix, "-o", file, "--force"});
        CHECK(answerOf({"run", file}).at("check").at("ok") == true);
        CHECK(slurp(folder / ("out" + suffix) / "latest") == tag);
        answerOf({"repair", "--undo", folder / ("out" + suffix), folder / ("again" + suffix)});
        CHECK(slurp(folder / ("again" + suffix) / tag / kShard) == slurp(run / tag / kShard));
    }
    // Nothing is left to repair.
    spill(run / "latest", tag);
    const Json error = errorOf({"run", file, folder / "late"}, 6, "source-changed");
    CHECK(error.at("message").get<std::string>().find("has changed") != std::string::npos);
}

TEST_CASE("a saved repair runs to the same bytes, and only on the source it was made for")
{
    const TemporaryFolder folder;
    const fs::path run = damaged(folder);
    const fs::path file = folder / "plan.json";
    const std::vector<std::string> asked{"--fix", "rank-missing", "--set", "step=9", "--moments", "donor",
        "--from", run / "global_step3", "--tag-out", "repaired"};
    std::vector<std::string> plan{"plan", "repair", run, folder / "out", "-o", file};
    plan.insert(plan.end(), asked.begin(), asked.end());
    const Json planned = answerOf(plan);
    CHECK(planned.at("changes").size() > 9);
    CHECK(!fs::exists(folder / "out"));
    const Json saved = Json::parse(slurp(file));
    CHECK(schemaErrors(readSchema("saved-plan"), saved, true).empty());
    const Json ran = answerOf({"run", file});
    CHECK(ran.at("changes") == planned.at("changes"));
    CHECK(ran.at("check").at("ok") == true);
    std::vector<std::string> direct{"repair", run, folder / "direct"};
    direct.insert(direct.end(), asked.begin(), asked.end());
    answerOf(direct);
    CHECK(contentOf(folder / "out") == contentOf(folder / "direct"));

    const fs::path donor = run / "global_step3/bf16_zero_pp_rank_1_mp_rank_00_optim_states.pt";
    const std::string bytes = slurp(donor);
    fs::remove(donor);
    spill(donor, bytes);
    errorOf({"run", file, folder / "late"}, 6, "source-changed");
    CHECK(!fs::exists(folder / "late"));
}

TEST_CASE("--undo reads the --root folders of the repair")
{
    const TemporaryFolder folder;
    const fs::path run = copySample("zero2-w2", folder);
    const std::string tag = slurp(run / "latest");
    const fs::path second = folder / "second";
    fs::create_directories(second / tag);
    fs::rename(run / tag / kShard, second / tag / kShard);
    answerOf({"repair", run, folder / "out", "--set", "step=9", "--root", second});
    answerOf({"repair", "--undo", folder / "out", folder / "again"});
    CHECK(slurp(folder / "again" / tag / kShard) == slurp(second / tag / kShard));
    fs::remove_all(second);
    const Json gone = errorOf({"repair", "--undo", folder / "out", folder / "x"}, 3, "not-found");
    CHECK(gone.at("path") == second.string());
}

TEST_CASE("optimizer files with swapped names get their own names again, and no value is lost")
{
    for (const std::string sample : {"zero1-w2", "zero2-w2", "zero3-w4", "roundrobin-w3", "slices-w4"}) {
        CAPTURE(sample);
        const TemporaryFolder folder;
        const fs::path run = copySample(sample, folder);
        const fs::path tag = newestOf(run);
        const auto whole = contentOf(tag);
        std::vector<fs::path> shards;
        for (const auto& entry : fs::directory_iterator(tag)) {
            if (entry.path().filename().string().find("optim_states") != std::string::npos)
                shards.push_back(entry.path());
        }
        std::sort(shards.begin(), shards.end());
        if (sample == "slices-w4") // of one slice
            std::erase_if(shards,
                [](const fs::path& path) { return path.string().find("mp_rank_01") != std::string::npos; });
        REQUIRE(shards.size() > 1);
        // Two files are swapped; three or more are rotated by one.
        const fs::path aside = folder / "aside";
        fs::rename(shards.back(), aside);
        for (size_t i = shards.size() - 1; i > 0; --i)
            fs::rename(shards[i - 1], shards[i]);
        fs::rename(aside, shards.front());
        const Json answer = answerOf({"repair", run, folder / "out", "--fix", "rank-foreign"});
        CHECK(answer.at("fixed") == Json{"rank-foreign"});
        CHECK(answer.at("changes").size() == shards.size());
        for (const Json& change : answer.at("changes"))
            CHECK(change.at("marked") == false);
        CHECK(answer.at("check").at("ok") == true);
        for (const auto& [name, bytes] : whole)
            CHECK(slurp(newestOf(folder / "out") / name) == bytes);
        answerOf({"verify", folder / "out"});
        answerOf({"repair", "--undo", folder / "out", folder / "again"});
        CHECK(slurp(newestOf(folder / "again") / shards.front().filename()) == slurp(shards.front()));
    }
}

TEST_CASE("a file that also has another rank's name is not a swap")
{
    const TemporaryFolder folder;
    const fs::path run = copySample("zero2-w2", folder);
    fs::copy_file(newestOf(run) / "bf16_zero_pp_rank_0_mp_rank_00_optim_states.pt", newestOf(run) / kShard,
        fs::copy_options::overwrite_existing);
    const Json answer = answerOf({"repair", run, folder / "out", "--fix", "rank-foreign"});
    CHECK(answer.dump().find("renamed: ") == std::string::npos);
}

TEST_CASE("--undo refuses options that it does not need, and a donor of swap folders")
{
    const TemporaryFolder folder;
    for (const std::vector<std::string>& more :
        std::vector<std::vector<std::string>>{{"--from", "x"}, {"--masters", "copies"},
            {"--moments", "zeros"}, {"--tag-out", "x"}, {"--allow", "marked"}, {"--root", "x"}}) {
        CAPTURE(more.front());
        std::vector<std::string> words{"repair", "--undo", samplePath("zero2-w2"), folder / "out"};
        words.insert(words.end(), more.begin(), more.end());
        errorOf(words, 2, "usage");
    }
    errorOf({"repair", samplePath("zero2-w2"), folder / "out", "--fix", "all", "--donor", "x"}, 2, "usage");
    errorOf({"check", samplePath("zero2-w2"), "--donor", "x"}, 2, "usage");
}

TEST_CASE("a copy with only set values records them and is not marked")
{
    const TemporaryFolder folder;
    const fs::path run = copySample("zero2-w2", folder);
    const Json answer = answerOf({"repair", run, folder / "out", "--set", "1:lr=0.5", "--set", "step=9"});
    CHECK(answer.at("fixed").empty());
    CHECK(answer.at("check").at("ok") == true);
    const Json& first = answer.at("changes").at(0);
    CHECK(first.at("code") == "set");
    CHECK(first.at("after") == "0.5");
    CHECK(!first.at("before").get<std::string>().empty());
    answerOf({"verify", folder / "out"});
    CHECK(answerOf({"diff", run, folder / "out"}, 1).dump().find("exp_avg") == std::string::npos);
    answerOf({"repair", "--undo", folder / "out", folder / "again"});
    for (const auto& entry : fs::directory_iterator(newestOf(run)))
        CHECK(slurp(newestOf(folder / "again") / entry.path().filename()) == slurp(entry.path()));

    // The options are in another file in a universal folder.
    answerOf({"convert", run, folder / "universal", "--to", "universal"});
    answerOf({"repair", folder / "universal", folder / "set", "--set", "lr=0.5", "--set", "step=9"});
    CHECK(answerOf({"diff", folder / "out", folder / "set"}, 1).dump().find("\"0.5\"") != std::string::npos);
    errorOf({"repair", run, folder / "x", "--set", "momentum=1"}, 4, "unsupported");
    errorOf({"repair", run, folder / "x", "--set", "step=many"}, 2, "usage");
    CHECK(!fs::exists(folder / "x"));
}

TEST_CASE("a changed bit is found at depth bytes, and only its record is refilled")
{
    const TemporaryFolder folder;
    const fs::path run = copySample("zero2-w2", folder);
    const fs::path shard = newestOf(run) / kShard;
    std::string bytes = slurp(shard);
    bytes[bytes.find("/data/1") + 500] ^= 1;
    spill(shard, bytes);
    answerOf({"check", run, "--depth", "metadata"});
    const Json found = answerOf({"check", run, "--depth", "bytes"}, 1);
    CHECK(found.dump().find("record-corrupt") != std::string::npos);
    errorOf({"repair", run, folder / "x", "--fix", "all"}, 3, "not-found");
    const Json answer = answerOf({"repair", run, folder / "out", "--fix", "F2"});
    CHECK(answer.at("check").at("ok") == true);
    answerOf({"repair", run, folder / "deep", "--fix", "all", "--depth", "bytes"});
    answerOf({"check", folder / "out", "--depth", "bytes", "--only", "record-corrupt"});
}

TEST_CASE("a lost shard is refilled from a distributed checkpoint of the same step")
{
    for (const char* sample : {"zero2-w2", "zero3-w4"}) {
        CAPTURE(sample);
        const TemporaryFolder folder;
        const fs::path run = copySample(sample, folder);
        answerOf({"convert", run, folder / "dcp", "--to", "dcp"});
        fs::remove(newestOf(run) / kShard);
        answerOf({"repair", run, folder / "out", "--fix", "L6", "--from", folder / "dcp", "--masters",
            "donor", "--moments", "donor"});
        CHECK(answerOf({"fingerprint", folder / "out"}).at("fingerprint")
            == answerOf({"fingerprint", samplePath(sample)}).at("fingerprint"));
    }
}

TEST_CASE("a shard of another step is refilled")
{
    const TemporaryFolder folder;
    const fs::path run = copySample("zero2-w2", folder);
    fs::copy_file(
        run / "global_step3" / kShard, newestOf(run) / kShard, fs::copy_options::overwrite_existing);
    const Json found = answerOf({"check", run, "--fail-on", "never"});
    CHECK(found.dump().find("\"step-mismatch\"") != std::string::npos);
    const Json answer = answerOf({"repair", run, folder / "out", "--fix", "step-mismatch"});
    CHECK(answer.at("check").at("ok") == true);
    const Json masters = answerOf({"diff", folder / "out", samplePath("zero2-w2")}, 1);
    // Masters come from their 16-bit copies; moments of rank 1 come from the nearest tag.
    // Not in the whole answer: the random name of a folder may have it.
    CHECK(masters.at("differences").dump().find("0x") == std::string::npos);
    size_t marked = 0;
    for (const Json& change : answer.at("changes"))
        marked += change.at("marked").get<bool>() ? 1 : 0;
    CHECK(marked > 0);
}

TEST_CASE("what cannot be repaired is refused, and nothing is written")
{
    const TemporaryFolder folder;
    const fs::path healthy = copySample("zero3-w4", folder);
    errorOf({"repair", healthy, folder / "out", "--fix", "all"}, 3, "not-found");
    errorOf({"repair", healthy, folder / "out"}, 2, "usage");
    errorOf({"repair", healthy, folder / "out", "--fix", "Z1"}, 2, "usage");
    errorOf({"repair", healthy, folder / "out", "--fix", "pickle-opaque"}, 4, "unsupported");
    fs::remove(newestOf(healthy) / "bf16_zero_pp_rank_2_mp_rank_00_optim_states.pt");
    errorOf({"repair", healthy, folder / "out", "--fix", "L6"}, 6, "refused");
    CHECK(!fs::exists(folder / "out"));
    answerOf({"repair", healthy, folder / "out", "--fix", "L6", "--from", samplePath("zero3-w4")});
    errorOf(
        {"repair", healthy, healthy / "inside", "--fix", "L6", "--from", samplePath("zero3-w4")}, 2, "usage");
}
