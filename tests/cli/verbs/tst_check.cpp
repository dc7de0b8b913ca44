// SPDX-License-Identifier: Apache-2.0
// `check` as a process: no findings for healthy checkpoints, findings for damaged ones, in every report
// format.
#include "tests/cli/cli_fixture.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

using namespace shardscope::test;
using Json = nlohmann::json;
namespace fs = std::filesystem;

namespace {

/// The findings of the only path, by code.
std::set<std::string> codesOf(const Json& answer, const std::string& atLeast = "warning")
{
    REQUIRE(answer.at("results").size() == 1);
    std::set<std::string> out;
    const Json result = answer.at("results").at(0);
    for (const Json& finding : result.at("findings")) {
        if (finding.at("severity") != "info" && (atLeast != "error" || finding.at("severity") == "error"))
            out.insert(finding.at("code").get<std::string>());
    }
    return out;
}

std::set<std::string> codesAt(const fs::path& run, const std::string& depth)
{
    return codesOf(answerOf({"check", run, "--depth", depth, "--fail-on", "never"}));
}

fs::path newestOf(const fs::path& run)
{
    return run / slurp(run / "latest");
}

} // namespace

TEST_CASE("healthy checkpoints have no finding above info, at any depth")
{
    for (const char* depth : {"names", "headers", "metadata", "bytes"}) {
        CAPTURE(depth);
        for (const std::string& name : kSampleNames) {
            CAPTURE(name);
            const Json answer
                = answerOf({"check", samplePath(name), "--depth", depth, "--fail-on", "warning"});
            CHECK(answer.at("depth") == depth);
            CHECK(codesOf(answer).empty());
        }
    }
}

TEST_CASE("a missing rank is found, explained, and fails")
{
    const TemporaryFolder folder;
    const fs::path run = copySample("zero2-w2", folder);
    fs::remove(newestOf(run) / "bf16_zero_pp_rank_1_mp_rank_00_optim_states.pt");
    const Json answer = answerOf({"check", run}, 1);
    CHECK(codesOf(answer) == std::set<std::string>{"rank-missing"});
    const Json finding = answer.at("results").at(0).at("findings").at(0);
    CHECK(finding.at("letter") == "L6");
    CHECK(finding.at("where") == "bf16_zero_pp_rank_1_mp_rank_00_optim_states.pt");
    CHECK(finding.at("means").at("loading").is_string());

    answerOf({"check", run, "--fail-on", "never"}, 0);
    CHECK(codesOf(answerOf({"check", run, "--skip", "l6"})).empty());
    CHECK(codesOf(answerOf({"check", run, "--only", "latest-missing,S6"})).empty());
    CHECK(codesOf(answerOf({"check", run, "--only", "L6"}, 1)).size() == 1);
    errorOf({"check", run, "--only", "L66"}, 2, "usage");
}

TEST_CASE("each lost file of a rank or an expert is found by a check of names")
{
    size_t lost = 0;
    for (const auto& sample : fs::directory_iterator(fs::path(samplePath("zero2-w2")).parent_path())) {
        if (!fs::is_regular_file(sample.path() / "latest"))
            continue;
        const TemporaryFolder folder;
        const fs::path run = copySample(sample.path().filename(), folder);
        std::vector<fs::path> files;
        for (const auto& entry : fs::directory_iterator(newestOf(run))) {
            if (entry.path().filename().string().ends_with("_states.pt"))
                files.push_back(entry.path());
        }
        for (const fs::path& file : files) {
            CAPTURE(file);
            const std::string bytes = slurp(file);
            fs::remove(file);
            // Only other files of its stage say which layers it has, and not for tied ones or without ZeRO.
            const bool isLayer = file.filename().string().find("-model_states") != std::string::npos;
            if (!isLayer || codesAt(run, "metadata").contains("model-states-missing")) {
                for (const char* const depth : {"names", "headers"})
                    CHECK(!codesAt(run, depth).empty());
                ++lost;
            }
            spill(file, bytes);
        }
    }
    CHECK(lost > 100);
}

TEST_CASE("several paths have a result each")
{
    const TemporaryFolder folder;
    const fs::path run = copySample("zero3-w4", folder);
    fs::remove(run / "latest");
    const Json answer = answerOf({"check", samplePath("zero1-w2"), run}, 1);
    REQUIRE(answer.at("results").size() == 2);
    const Json& second = answer.at("results").at(1);
    CHECK(second.at("tag").is_null());
    CHECK(second.at("findings").at(0).at("code") == "latest-missing");
    errorOf({"check", folder / "nowhere"}, 3, "not-found");
    errorOf({"check"}, 2, "usage");
}

TEST_CASE("a path that cannot be read is an answer of its own, and the other paths have theirs")
{
    const TemporaryFolder folder;
    const fs::path run = copySample("zero2-w2", folder);
    fs::remove(newestOf(run) / "bf16_zero_pp_rank_1_mp_rank_00_optim_states.pt");
    const std::string gone = folder / "nowhere\x1b[31m";
    const std::string sarifFile = folder / "a.sarif";
    const std::string htmlFile = folder / "a.html";
    const Json answer
        = answerOf({"check", samplePath("zero1-w2"), gone, run, "--sarif", sarifFile, "--html", htmlFile}, 3);
    REQUIRE(answer.at("results").size() == 3);
    CHECK(answer.at("results").at(0).at("findings").is_array());
    CHECK(!answer.at("results").at(0).contains("error"));
    const Json& bad = answer.at("results").at(1);
    CHECK(bad.at("path") == gone);
    CHECK(bad.at("error").at("code") == "not-found");
    CHECK(bad.at("error").at("path") == gone);
    CHECK(!bad.contains("findings"));
    CHECK(answer.at("results").at(2).at("findings").at(0).at("code") == "rank-missing");

    const Json sarif = Json::parse(slurp(sarifFile)).at("runs").at(0);
    const Json invocation = sarif.at("invocations").at(0);
    CHECK(invocation.at("executionSuccessful") == false);
    const Json notice = invocation.at("toolExecutionNotifications").at(0);
    CHECK(notice.at("level") == "error");
    CHECK(notice.at("descriptor").at("id") == "not-found");
    CHECK(notice.at("message").at("text").get<std::string>().find("No such file") != std::string::npos);
    CHECK(!sarif.at("results").empty());
    const std::string html = slurp(htmlFile);
    CHECK(html.find("No such file") != std::string::npos);
    CHECK(html.find("rank-missing") != std::string::npos);

    const ProcessResult text = runShardscope({"check", gone, run});
    CHECK(text.exitCode == 3);
    CHECK(text.out.find("No such file") != std::string::npos);
    CHECK(text.out.find("rank-missing") != std::string::npos);
    CHECK(text.out.find('\x1b') == std::string::npos);
}

TEST_CASE("the exit status of several paths is the worst one")
{
    const TemporaryFolder folder;
    const std::string healthy = samplePath("zero1-w2");
    const fs::path run = copySample("zero2-w2", folder);
    fs::remove(run / "latest");
    const std::string skeleton = folder / "s.zip";
    answerOf({"skeleton", healthy, skeleton});
    const std::string gone = folder / "nowhere";
    const Json answer = answerOf({"check", skeleton, run, "--depth", "bytes"}, 4);
    CHECK(answer.at("results").at(0).at("error").at("code") == "unsupported");
    CHECK(answer.at("results").at(1).at("findings").at(0).at("code") == "latest-missing");
    answerOf({"check", skeleton, gone, "--depth", "bytes"}, 3);
    answerOf({"check", gone, healthy, "--fail-on", "never"}, 3);
    answerOf({"check", run, healthy}, 1);
    errorOf({"check", healthy, run, "--only", "L66"}, 2, "usage");
}

TEST_CASE("one path that cannot be read is an error, and the reports say so")
{
    const TemporaryFolder folder;
    const std::string sarifFile = folder / "a.sarif";
    const std::string htmlFile = folder / "a.html";
    errorOf({"check", folder / "nowhere", "--sarif", sarifFile, "--html", htmlFile}, 3, "not-found");
    CHECK(Json::parse(slurp(sarifFile)).at("runs").at(0).at("invocations").at(0).at("executionSuccessful")
        == false);
    CHECK(slurp(htmlFile).find("No such file") != std::string::npos);
}

TEST_CASE("a folder of nothing but damaged files is examined all the same")
{
    const TemporaryFolder folder;
    const fs::path run = copySample("zero2-w2", folder);
    for (const auto& entry : fs::directory_iterator(newestOf(run)))
        spill(entry.path(), "version https://git-lfs.github.com/spec/v1\n");
    const Json answer = answerOf({"check", run}, 1);
    CHECK(!codesOf(answer, "error").empty());
}

TEST_CASE("reports are written in addition to the answer, and replaced only with --force")
{
    const TemporaryFolder folder;
    const fs::path run = copySample("zero2-w2", folder);
    const fs::path lost = newestOf(run) / "bf16_zero_pp_rank_1_mp_rank_00_optim_states.pt";
    fs::remove(lost);
    const auto before = contentOf(run);
    answerOf({"check", run, "--sarif", folder / "a.sarif", "--html", folder / "a.html"}, 1);
    CHECK(contentOf(run) == before);

    const Json sarif = Json::parse(slurp(folder / "a.sarif"));
    CHECK(sarif.at("version") == "2.1.0");
    const Json& found = sarif.at("runs").at(0);
    bool missing = false;
    for (const Json& result : found.at("results")) {
        const Json& rule = found.at("tool").at("driver").at("rules").at(result.at("ruleIndex").get<size_t>());
        CHECK(rule.at("id") == result.at("ruleId"));
        const std::string uri
            = result.at("locations").at(0).at("physicalLocation").at("artifactLocation").at("uri");
        missing
            = missing || (result.at("ruleId") == "rank-missing" && uri.ends_with(lost.filename().string()));
    }
    CHECK(missing);

    const std::string html = slurp(folder / "a.html");
    CHECK(html.find("rank-missing") != std::string::npos);
    CHECK(html.find("<script") == std::string::npos);
    errorOf({"check", run, "--html", folder / "a.html"}, 5, "target-exists");
    answerOf({"check", run, "--html", folder / "a.html", "--force"}, 1);
}

TEST_CASE("check: reports in files say version, time, command and what the checkpoint is; answers do not")
{
    const TemporaryFolder folder;
    const fs::path source = copySample("zero2-w2", folder);
    const fs::path run = folder / "resharded";
    REQUIRE(runShardscope({"reshard", source, run, "--world-size", "1"}).exitCode == 0); // with a manifest
    const std::string fingerprint = answerOf({"fingerprint", run}).at("fingerprint");
    const Words words{"check", run, "--depth", "metadata", "--fail-on", "never", "--sarif",
        folder / "a.sarif", "--html", folder / "it's.html"};
    CHECK(runShardscope(words).exitCode == 0);
    CHECK_FALSE(answerOf({"check", run}).contains("report"));

    const std::string html = slurp(folder / "it's.html");
    const std::string command
        = "shardscope check " + run.string() + " --depth metadata --fail-on never --sarif ";
    for (const std::string& part :
        {std::string("<dt>Written by</dt><dd>Shardscope "), std::string("<dt>Time</dt><dd>20"),
            "<dt>Command</dt><dd><code>" + command, std::string("<dt>Tag</dt><dd><code>global_step6</code>"),
            std::string("<dt>Kind</dt><dd>ZeRO-2, 1 rank, bf16</dd>"),
            "<dt>Fingerprint when written</dt><dd>" + fingerprint + " (version 2)</dd>"}) {
        CHECK_MESSAGE(html.find(part) != std::string::npos, part);
    }
    const Json found = Json::parse(slurp(folder / "a.sarif")).at("runs").at(0);
    const Json& invocation = found.at("invocations").at(0);
    CHECK(invocation.at("endTimeUtc").get<std::string>().ends_with("Z"));
    CHECK(invocation.at("commandLine").get<std::string>().starts_with(command));
    CHECK(invocation.at("commandLine").get<std::string>().find("it'\\''s.html'") != std::string::npos);
    const Json& about = found.at("properties").at("checkpoints").at(0);
    CHECK(about.at("path") == run.string());
    CHECK(about.at("tag") == "global_step6");
    CHECK(about.at("kind") == "zero2");
    CHECK(about.at("ranks") == 1);
    CHECK(about.at("fingerprint") == fingerprint);
    CHECK(about.at("fingerprint_error").is_null());
    CHECK(about.at("files") == answerOf({"inspect", run}).at("files").at("count"));

    // A manifest that cannot be read is not the same as none.
    spill(newestOf(run) / "shardscope.json", "{");
    const std::string markdown = folder / "damaged.md";
    runShardscope({"check", run, "--depth", "metadata", "--markdown", markdown, "--sarif", folder / "a.sarif",
        "--force"});
    CHECK(slurp(markdown).find("- Fingerprint when written: cannot be read: ") != std::string::npos);
    const Json damaged = Json::parse(slurp(folder / "a.sarif")).at("runs").at(0);
    const Json& unread = damaged.at("properties").at("checkpoints").at(0);
    CHECK(unread.at("fingerprint").is_null());
    CHECK(unread.at("fingerprint_error").is_string());
}

TEST_CASE("a small checkpoint is read whole unless a depth is named, and the answer says what was not read")
{
    const TemporaryFolder folder;
    const fs::path run = copySample("zero2-w2", folder);
    const fs::path shard = newestOf(run) / "bf16_zero_pp_rank_1_mp_rank_00_optim_states.pt";
    std::string bytes = slurp(shard);
    bytes[bytes.find("/data/1") + 500] ^= 1;
    spill(shard, bytes);

    const Json whole = answerOf({"check", run}, 1);
    CHECK(whole.at("depth") == "auto");
    CHECK(codesOf(whole).contains("record-corrupt"));
    CHECK(whole.at("results").at(0).at("depth") == "bytes");
    CHECK(whole.at("results").at(0).at("not_read") == Json{{"bytes", 0}, {"what", nullptr}});
    CHECK(runShardscope({"check", run}).out.find("not read") == std::string::npos);

    uint64_t size = 0;
    const Json listed = answerOf({"files", run});
    for (const Json& file : listed.at("files"))
        size += file.at("bytes").get<uint64_t>();
    const Words words{"check", run, "--depth", "metadata"};
    const Json part = answerOf(
        {"check", run, "--depth", "metadata", "--sarif", folder / "a.sarif", "--html", folder / "a.html"});
    CHECK(part.at("depth") == "metadata");
    CHECK(part.at("results").at(0).at("not_read") == Json{{"bytes", size}, {"what", "values"}});
    CHECK(runShardscope(words).out.find("values not read: ") != std::string::npos);
    CHECK(slurp(folder / "a.html").find("values not read: ") != std::string::npos);
    const Json sarif = Json::parse(slurp(folder / "a.sarif"));
    const Json unread = sarif.at("runs").at(0).at("properties").at("not_read").at(0);
    CHECK(unread.at("bytes") == size);
    CHECK(unread.at("what") == "values");
    CHECK(answerOf({"check", run, "--depth", "names"}).at("results").at(0).at("not_read").at("what")
        == "content");
}

TEST_CASE("the command of a finding reads the tag and the folders that were checked")
{
    const TemporaryFolder folder;
    const fs::path run = copySample("zero2-w2", folder);
    const fs::path other = folder / "node2";
    fs::create_directories(other / "global_step3");
    fs::remove(run / "global_step3/bf16_zero_pp_rank_1_mp_rank_00_optim_states.pt");
    const auto commandOf = [&](std::vector<std::string> more, const std::string& tag) {
        std::vector<std::string> words{"check", run};
        words.insert(words.end(), more.begin(), more.end());
        const Json answer = answerOf(words, 1);
        for (const Json& result : answer.at("results")) {
            if (result.at("tag") != tag)
                continue;
            for (const Json& finding : result.at("findings"))
                if (finding.at("code") == "rank-missing")
                    return finding.at("fix").at("command").get<std::string>();
        }
        return std::string();
    };
    const std::string begin = "shardscope repair " + run.string() + " DST";
    const std::string end = " --fix rank-missing";
    CHECK(commandOf({"--tag", "global_step3"}, "global_step3") == begin + " --tag global_step3" + end);
    CHECK(commandOf({"--all-tags"}, "global_step3") == begin + " --tag global_step3" + end);
    CHECK(commandOf({"--tag", "global_step3", "--root", other}, "global_step3")
        == begin + " --tag global_step3 --root " + other.string() + end);
    fs::remove(run / "global_step6/bf16_zero_pp_rank_1_mp_rank_00_optim_states.pt");
    CHECK(commandOf({}, "global_step6") == begin + end); // `latest` names it
    CHECK(commandOf({"--all-tags"}, "global_step6") == begin + end);
}

TEST_CASE("a large checkpoint is not read whole unless every byte is asked for")
{
    const TemporaryFolder folder;
    const fs::path run = copySample("zero2-w2", folder);
    const fs::path other = newestOf(run) / "large.bin"; // counts as a file of the folder
    spill(other, "x");
    fs::resize_file(other, uint64_t{2} << 30);
    const Json result = answerOf({"check", run}).at("results").at(0);
    CHECK(result.at("depth") == "metadata");
    CHECK(result.at("not_read").at("bytes") > uint64_t{2} << 30);
    CHECK(result.at("not_read").at("what") == "values");
}

TEST_CASE("check: the findings as Markdown, with time, identity and options")
{
    const TemporaryFolder folder;
    const std::string run = folder / "run|`x`";
    fs::copy(samplePath("zero2-w2"), run, fs::copy_options::recursive);
    fs::remove(run + "/global_step6/bf16_zero_pp_rank_1_mp_rank_00_optim_states.pt");
    const std::string file = folder / "findings.md";
    CHECK(runShardscope({"check", run, "--depth", "metadata", "--markdown", file}).exitCode == 1);
    const std::string text = slurp(file);
    const auto contains
        = [](const std::string& all, const std::string& part) { return all.find(part) != std::string::npos; };
    CHECK(text.starts_with("# Checkpoint findings\n\n- Written by: Shardscope "));
    CHECK(contains(text, "\n- Time: 20"));
    CHECK(contains(text, "\n- Command: `` shardscope check '"));
    CHECK(contains(text, " --depth metadata --markdown "));
    CHECK(contains(text, "\n- Depth asked for: metadata\n"));
    CHECK(contains(text, "/run\\|\\`x\\`")); // nothing of a name is markup
    CHECK(contains(text, "\n- Tag: `global_step6`\n"));
    CHECK(contains(text, "\n- Kind: ZeRO-2, 2 ranks, bf16\n"));
    CHECK(contains(text, " bytes\n"));
    CHECK(contains(text, "\n### error: "));
    CHECK(contains(text, "`bf16_zero_pp_rank_1_mp_rank_00_optim_states.pt`"));
    CHECK(runShardscope({"check", run, "--markdown", "-"}).out.starts_with("# Checkpoint findings\n"));
    errorOf({"check", run, "--markdown", file}, 5, "target-exists");
}

TEST_CASE("all possible findings are listed")
{
    const Json answer = answerOf({"check", "--list"});
    CHECK(answer.at("diagnoses").size() > 39);
}
