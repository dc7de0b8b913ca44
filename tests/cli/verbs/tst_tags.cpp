// SPDX-License-Identifier: Apache-2.0
// `tags`, `tags --newest-complete` and `check --all-tags`.
#include "tests/cli/cli_fixture.h"

#include <doctest/doctest.h>

#include <algorithm>

using namespace shardscope;
using namespace shardscope::test;
namespace fs = std::filesystem;
using Json = nlohmann::json;

namespace {

const std::string kOptim = "bf16_zero_pp_rank_1_mp_rank_00_optim_states.pt";

/// What --newest-complete prints, without the line's end; `messages` gets standard error.
std::string newestOf(const fs::path& path, int exitCode, std::string* messages = nullptr)
{
    const ProcessResult result = runShardscope({"tags", path, "--newest-complete"});
    CHECK(result.exitCode == exitCode);
    if (messages != nullptr)
        *messages = result.err;
    return result.out.empty() ? result.out : result.out.substr(0, result.out.size() - 1);
}

/// Six runs of several kinds, some of them incomplete, and a link.
fs::path folderOfRuns(const TemporaryFolder& folder)
{
    const fs::path base = fs::canonical(folder.path()) / "experiments";
    fs::create_directories(base / "sweep");
    fs::create_directories(base / "trainer2");
    const std::vector<std::pair<const char*, const char*>> runs{{"zero2-w2", "run-a"}, {"zero3-w4", "run-b"},
        {"zero1-w2", "sweep/run-c"}, {"zero2-w2", "trainer"}, {"zero2-w2", "trainer2/checkpoint-100"},
        {"zero2-w2", "trainer2/checkpoint-200"}};
    for (const auto& [sample, name] : runs)
        fs::copy(samplePath(sample), base / name, fs::copy_options::recursive);
    for (const char* name : {"trainer2/checkpoint-100", "trainer2/checkpoint-200"})
        spill(base / name / "trainer_state.json", "{}");
    fs::copy(
        samplePath("").parent_path().parent_path() / "dcp/root", base / "dcp", fs::copy_options::recursive);
    fs::remove(base / "run-a/global_step6" / kOptim);
    fs::remove_all(base / "run-b/global_step5");
    fs::create_directories(base / "run-b/global_step5");
    spill(base / "trainer/latest", "global_step99");
    fs::create_directory_symlink(base, base / "loop");
    return base;
}

} // namespace

TEST_CASE("tags are listed with what names and headers say")
{
    const TemporaryFolder folder;
    const fs::path run = copySample("zero2-w2", folder);
    const Json answer = answerOf({"tags", run});
    REQUIRE(answer.at("tags").size() == 2);
    const Json& older = answer.at("tags")[0];
    const Json& newer = answer.at("tags")[1];
    CHECK(older.at("tag") == "global_step3");
    CHECK(older.at("latest") == false);
    CHECK(newer.at("tag") == "global_step6");
    CHECK(newer.at("latest") == true);
    CHECK(newer.at("step") == 6);
    CHECK(newer.at("kind") == "zero2");
    CHECK(newer.at("parallel").at("dp") == 2);
    CHECK(newer.at("complete") == true);
    CHECK(newer.at("fingerprint").is_null());
    CHECK(newer.at("bytes") == answerOf({"inspect", run}).at("files").at("bytes"));
    CHECK(answer.at("newest_complete") == (run / "global_step6").string());
    CHECK(answerOf({"tags", run / "global_step3"}).at("tags") == answer.at("tags")); // a tag of the run

    answerOf({"reshard", run, folder / "out", "-w", "3"});
    const Json written = answerOf({"tags", folder / "out"}).at("tags")[0];
    CHECK(written.at("fingerprint") == answerOf({"fingerprint", run}).at("fingerprint"));
}

TEST_CASE("a tag that is not complete is passed over")
{
    const TemporaryFolder folder;
    const fs::path run = copySample("zero2-w2", folder);
    const fs::path newer = run / "global_step6";
    std::string messages;
    CHECK(newestOf(run, 0, &messages) == newer);
    CHECK(messages.empty());

    fs::remove(newer / kOptim); // the name of the other rank does not show that this one is missing
    CHECK(newestOf(run, 0, &messages) == run / "global_step3");
    CHECK(messages.find("the file of rank 1 is missing") != std::string::npos);
    CHECK(answerOf({"tags", run}).at("tags")[1].at("findings").at("error") == 1);

    fs::copy_file(run / "global_step3" / kOptim, newer / kOptim); // a file of another step
    CHECK(newestOf(run, 0, &messages) == run / "global_step3");
    CHECK(messages.find("passed over " + newer.string()) != std::string::npos);
    const Json listed = answerOf({"tags", run});
    CHECK(listed.at("tags")[1].at("complete") == false);
    CHECK(listed.at("newest_complete") == (run / "global_step3").string());

    fs::resize_file(newer / kOptim, 1000); // torn
    CHECK(newestOf(run, 0) == run / "global_step3");

    for (const char* tag : {"global_step3", "global_step6"})
        fs::remove(run / tag / "mp_rank_00_model_states.pt");
    CHECK(newestOf(run, 1, &messages).empty());
    CHECK(messages.find("no tag of " + run.string() + " is complete") != std::string::npos);
    CHECK(answerOf({"tags", run, "--newest-complete"}, 1).at("newest_complete").is_null());
    CHECK(answerOf({"tags", run}).at("newest_complete").is_null());
}

TEST_CASE("the pointer file does not decide which tag is complete")
{
    const TemporaryFolder folder;
    const fs::path run = copySample("zero2-w2", folder);
    fs::remove(run / "latest");
    CHECK(newestOf(run, 0) == run / "global_step6");
    CHECK(answerOf({"tags", run}).at("tags")[1].at("latest") == false);
}

TEST_CASE("numbered checkpoints of a framework are tags")
{
    const TemporaryFolder folder;
    for (const char* name : {"checkpoint-9", "checkpoint-10"}) {
        fs::create_directories(folder / "out" / name);
        fs::copy(samplePath("zero2-w2"), folder / "out" / name, fs::copy_options::recursive);
    }
    const Json answer = answerOf({"tags", folder / "out"});
    REQUIRE(answer.at("tags").size() == 2);
    CHECK(answer.at("tags")[0].at("tag") == "checkpoint-9");
    CHECK(answer.at("tags")[1].at("tag") == "checkpoint-10");
    CHECK(answer.at("tags")[1].at("latest") == true);
    CHECK(newestOf(folder / "out", 0) == folder / "out" / "checkpoint-10");
    fs::remove(folder / "out" / "checkpoint-10" / "global_step6" / kOptim);
    CHECK(newestOf(folder / "out", 0) == folder / "out" / "checkpoint-9");
}

TEST_CASE("paths without tags, and options that contradict, are refused")
{
    const TemporaryFolder folder;
    errorOf({"tags", folder / "absent"}, 3, "not-found");
    errorOf({"tags", folder.path()}, 3, "not-a-checkpoint");
    errorOf({"check", samplePath("zero2-w2"), "--all-tags", "--tag", "global_step3"}, 2, "usage");
}

TEST_CASE("check --all-tags checks every tag of every path")
{
    const TemporaryFolder folder;
    const fs::path run = copySample("zero2-w2", folder);
    fs::remove(run / "global_step3" / kOptim);
    const Json results = answerOf({"check", run, samplePath("zero1-w2"), "--all-tags"}, 1).at("results");
    REQUIRE(results.size() == 3);
    CHECK(results[0].at("path") == (run / "global_step3").string());
    CHECK(results[0].at("tag") == "global_step3");
    CHECK(results[1].at("tag") == "global_step6");
    CHECK(results[2].at("path").get<std::string>().starts_with(samplePath("zero1-w2").string()));
    const auto errors = [](const Json& result) {
        size_t count = 0;
        for (const Json& finding : result.at("findings"))
            count += finding.at("severity") == "error" ? 1 : 0;
        return count;
    };
    CHECK(errors(results[0]) > 0);
    CHECK(errors(results[1]) == 0);
    CHECK(answerOf({"check", run, folder / "absent", "--all-tags"}, 3).at("results").size() == 3);
}

TEST_CASE("--tag must not contradict the path of a tag")
{
    const TemporaryFolder folder;
    const fs::path run = copySample("zero2-w2", folder);
    const fs::path tag = run / "global_step6";
    CHECK(answerOf({"inspect", tag, "--tag", "global_step6"}).at("tag") == "global_step6");
    errorOf({"inspect", tag, "--tag", "global_step3"}, 2, "usage");
    errorOf({"reshard", tag, folder / "out", "-w", "3", "--tag", "global_step3"}, 2, "usage");
    errorOf({"inspect", tag / "mp_rank_00_model_states.pt", "--tag", "global_step3"}, 2, "usage");
    REQUIRE(runShardscope({"convert", run, folder / "universal", "--to", "universal"}).exitCode == 0);
    errorOf({"inspect", folder / "universal" / "global_step6_universal" / "zero", "--tag", "global_step3"}, 2,
        "usage");
}

TEST_CASE("a pointer that is no file is reported once")
{
    const TemporaryFolder folder;
    const fs::path run = copySample("zero2-w2", folder);
    fs::remove(run / "latest");
    fs::create_directory(run / "latest");
    const ProcessResult result = runShardscope({"check", run, "--json"});
    const Json findings = Json::parse(result.out).at("results")[0].at("findings");
    const auto ofPointer = std::count_if(findings.begin(), findings.end(),
        [](const Json& finding) { return finding.at("code").get<std::string>().starts_with("latest-"); });
    CHECK(ofPointer == 1);
}

TEST_CASE("the runs of a folder are listed with their newest complete tags")
{
    const TemporaryFolder folder;
    const fs::path base = folderOfRuns(folder);
    const Json answer = answerOf({"tags", base});
    CHECK(answer.at("run") == base.string());
    CHECK(answer.at("tags").empty());
    CHECK(answer.at("newest_complete").is_null());
    CHECK(answer.at("all_searched") == true);
    CHECK(answer.at("unreadable").empty());
    CHECK(answer.at("links").size() == 1);
    CHECK(answer.at("not_checked").get<std::string>().find("Values") != std::string::npos);
    const Json& runs = answer.at("runs");
    REQUIRE(runs.size() == 6);
    const auto run = [&](const std::string& name) {
        return *std::find_if(
            runs.begin(), runs.end(), [&](const Json& each) { return each.at("name") == name; });
    };
    CHECK(run("run-a").at("tag") == "global_step3");
    CHECK(run("run-a").at("newest_complete") == (base / "run-a/global_step3").string());
    CHECK(run("run-a").at("read").size() == 2);
    CHECK(run("run-a").at("problems")[0].at("text").get<std::string>().find("rank 1 is missing")
        != std::string::npos);
    CHECK(run("run-b").at("newest_complete").is_null());
    CHECK(run("run-b").contains("error"));
    CHECK(run("sweep/run-c").at("step") == 7);
    CHECK(run("sweep/run-c").at("kind") == "zero1");
    CHECK(run("sweep/run-c").at("ranks") == 2);
    CHECK(run("trainer").at("latest")[0].at("code") == "latest-dangling");
    CHECK(run("trainer2").at("tag") == "checkpoint-200");
    CHECK(run("trainer2").at("tags") == 2);
    CHECK(run("dcp").at("kind") == "dcp");
    CHECK(run("dcp").at("tag").is_null());
    CHECK(run("dcp").at("newest_complete") == (base / "dcp").string());
}

TEST_CASE("the table of runs says what is wrong, and what was not looked at")
{
    const TemporaryFolder folder;
    const fs::path base = folderOfRuns(folder);
    const ProcessResult text = runShardscope({"tags", base});
    CHECK(text.exitCode == 0);
    CHECK(text.err.empty());
    CHECK(text.out.find("run-a        global_step3") != std::string::npos);
    CHECK(text.out.find("run-a: global_step6 is not complete: the file of rank 1 is missing")
        != std::string::npos);
    CHECK(text.out.find("a link is not followed: " + (base / "loop").string()) != std::string::npos);
    CHECK(text.out.find("Values, and the metadata of all ranks, were not.") != std::string::npos);
    CHECK(!answerOf({"tags", base / "run-a"}).contains("runs"));
}
