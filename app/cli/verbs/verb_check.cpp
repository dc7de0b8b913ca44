// SPDX-License-Identifier: Apache-2.0
#include "app/cli/frame/common_options.h"
#include "app/cli/frame/exit.h"
#include "app/cli/frame/word_list.h"
#include "app/cli/jobs/session.h"
#include "app/cli/jobs/text_file.h"
#include "app/cli/jobs/write_job.h"
#include "app/cli/verbs/verbs.h"
#include "core/engine/verify/run_tags.h"
#include "core/report/answers/check_report.h"
#include "core/report/documents/html_report.h"
#include "core/report/documents/markdown_report.h"
#include "core/report/documents/sarif_report.h"

#include <climits>

namespace shardscope::cli {

namespace {

/// Empty when no finding makes the check fail.
std::optional<Severity> failOn(const Arguments& arguments)
{
    const std::string name = arguments.text("--fail-on");
    if (name == "never")
        return std::nullopt;
    return name == "info" ? Severity::Info : name == "warning" ? Severity::Warning : Severity::Error;
}

/// Empty for `auto`.
std::optional<CheckDepth> depthAsked(const Arguments& arguments)
{
    return parseCheckDepth(arguments.text("--depth"));
}

Result<CheckOptions> optionsFrom(const Session& session)
{
    const Arguments& arguments = session.arguments();
    CheckOptions out;
    const std::optional<CheckDepth> depth = depthAsked(arguments);
    out.choosesDepth = !depth;
    out.depth = depth.value_or(out.depth);
    out.open = session.openOptions();
    SHARDSCOPE_TRY(out.target, parseCheckTarget(arguments.text("--for")));
    SHARDSCOPE_TRY(out.only, findingsAsked(arguments, "--only"));
    SHARDSCOPE_TRY(out.skip, findingsAsked(arguments, "--skip"));
    SHARDSCOPE_TRY(out.jobs, jobsAsked(arguments));
    out.shared = session.shared();
    return out;
}

int listAll(Session& session)
{
    Output& output = session.output();
    if (output.json())
        writeDiagnosisListJson(output.answer());
    else
        writeDiagnosisListText(output.answer(), output.answerStyle());
    return kExitDone;
}

Result<CheckResult> checkPath(Session& session, const std::string& path, const CheckOptions& options)
{
    if (options.depth == CheckDepth::Bytes)
        SHARDSCOPE_CHECK(requireValuesIn(session.files(), path, "--depth bytes"));
    return examine(session.files(), path, options, session.job());
}

/// True when the error concerns this path only. It is reported, and the next path is checked.
bool isOfPath(const Error& error)
{
    return error.code != ErrorCode::Usage && error.code != ErrorCode::Cancelled
        && error.code != ErrorCode::Internal;
}

/// Adds the answer of one path, or the error that concerns it alone.
Status addResult(std::vector<CheckResult>& results, const std::string& path, Result<CheckResult> result)
{
    if (!result && !isOfPath(result.error()))
        return forward(std::move(result).error());
    if (result) {
        results.push_back(std::move(*result));
        return {};
    }
    CheckResult unread;
    unread.path = path;
    unread.error = std::move(result).error();
    results.push_back(std::move(unread));
    return {};
}

/// Every tag of the run, oldest first.
Status checkAllTags(
    Session& session, const std::string& path, CheckOptions options, std::vector<CheckResult>& results)
{
    const auto run = tagsOf(session.files(), path, session.job());
    if (!run)
        return addResult(results, path, forward(run.error()));
    for (const std::string& tag : run->names) {
        options.open.tag = tag;
        SHARDSCOPE_CHECK(
            addResult(results, (run->base / tag).string(), checkPath(session, run->base.string(), options)));
        results.back().path = (run->base / tag).string();
    }
    return {};
}

Result<std::vector<CheckResult>> checkPaths(
    Session& session, const std::vector<std::string>& paths, const CheckOptions& options)
{
    const bool allTags = session.arguments().has("--all-tags");
    if (allTags && !options.open.tag.empty())
        return fail(ErrorCode::Usage, "--all-tags and --tag cannot be used together");
    std::vector<CheckResult> results;
    for (const std::string& path : paths) {
        if (allTags)
            SHARDSCOPE_CHECK(checkAllTags(session, path, options, results));
        else
            SHARDSCOPE_CHECK(addResult(results, path, checkPath(session, path, options)));
    }
    SHARDSCOPE_CHECK(session.job().poll());
    return results;
}

Status writeReports(
    Session& session, const std::vector<CheckResult>& results, std::optional<CheckDepth> depth)
{
    const Arguments& arguments = session.arguments();
    const bool force = arguments.has("--force");
    const ReportHead head = checkHead(session.files(), results, session.parsed().commandLine());
    if (const std::string path = arguments.text("--sarif"); !path.empty())
        SHARDSCOPE_CHECK(writeTextFile(session, path, sarifReport(results, head), force));
    if (const std::string path = arguments.text("--html"); !path.empty())
        SHARDSCOPE_CHECK(writeTextFile(session, path, htmlReport(results, depth, head), force));
    if (const std::string path = arguments.text("--markdown"); !path.empty())
        SHARDSCOPE_CHECK(writeTextFile(session, path, markdownReport(results, depth, head), force));
    return {};
}

/// The worst result of all paths: cannot be read (3), then not supported (4), then findings (1).
int exitOf(const std::vector<CheckResult>& results, std::optional<Severity> limit)
{
    int worst = kExitDone;
    const auto rank = [](int code) { return code == exitCode(ErrorCode::Unreadable) ? INT_MAX : code; };
    for (const CheckResult& result : results) {
        const auto severity = result.worst();
        const int code = result.error                  ? exitCode(result.error->code)
            : limit && severity && *severity >= *limit ? kExitNo
                                                       : kExitDone;
        if (rank(code) > rank(worst))
            worst = code;
    }
    return worst;
}

Result<int> runCheck(Session& session)
{
    const Arguments& arguments = session.arguments();
    if (arguments.has("--list"))
        return listAll(session);
    const std::vector<std::string> paths = arguments.allOf("PATH");
    if (paths.empty())
        return fail(
            ErrorCode::Usage, "no checkpoint is given", {}, Hint("shardscope check PATH…", {{Retry::Shown}}));
    SHARDSCOPE_TRY(const CheckOptions options, optionsFrom(session));
    SHARDSCOPE_CHECK(checkStandardOutput(session, {"--sarif", "--html", "--markdown"}));
    const std::optional<CheckDepth> depth = depthAsked(arguments);
    SHARDSCOPE_TRY(const std::vector<CheckResult> results, checkPaths(session, paths, options));
    SHARDSCOPE_CHECK(writeReports(session, results, depth));
    if (results.size() == 1 && results.front().error) // as for every other verb
        return forward(*results.front().error);
    Output& output = session.output();
    if (output.json())
        writeCheckJson(output.answer(), results, depth);
    else
        writeCheckText(output.answer(), output.answerStyle(), results);
    return exitOf(results, failOn(arguments));
}

std::vector<Option> checkOptions()
{
    return {
        {.name = "--depth",
            .kind = ValueKind::Choice,
            .valueName = "DEPTH",
            .help
            = "What to read: names and sizes of files; their first and last bytes (headers); directories, "
              "pickles and a few values (metadata); or every byte. `auto` reads every byte of a checkpoint "
              "below 2 GiB, and metadata of a larger one. The answer says what was not read. Default: auto.",
            .choices = {"auto", "names", "headers", "metadata", "bytes"}},
        {.name = "--fail-on",
            .kind = ValueKind::Choice,
            .valueName = "SEVERITY",
            .help = "Exit with status 1 when a finding has at least this severity. Default: error.",
            .choices = {"info", "warning", "error", "never"}},
        {.name = "--only",
            .kind = ValueKind::Text,
            .valueName = "CODE",
            .help = "Look only for these findings: codes or letters, separated by commas. Can be repeated.",
            .repeats = true},
        {.name = "--skip",
            .kind = ValueKind::Text,
            .valueName = "CODE",
            .help = "Do not look for these findings. Can be repeated.",
            .repeats = true},
        {.name = "--for",
            .kind = ValueKind::Text,
            .valueName = "TARGET",
            .help = "The intended use of the checkpoint: any of world-size=N,stage=S,memory=SIZE,disk=PATH; "
                    "`\\,` is a comma in PATH. "
                    "What prevents this use is reported as a finding, too."},
        {.name = "--sarif",
            .kind = ValueKind::NewFile,
            .valueName = "FILE",
            .help
            = "Also write the findings to this file as SARIF 2.1.0, with the time, the command and what "
              "the checkpoint is. `-` means standard output: then the text answer goes to standard "
              "error, and --json cannot be used."},
        {.name = "--html",
            .kind = ValueKind::NewFile,
            .valueName = "FILE",
            .help
            = "Also write the findings to this file as an HTML page, with the same. `-` as for --sarif."},
        {.name = "--markdown",
            .kind = ValueKind::NewFile,
            .valueName = "FILE",
            .help = "Also write the findings to this file as Markdown, with the same. `-` as for --sarif."},
        {.name = "--force", .help = "Replace these files if they exist."},
        {.name = "--all-tags",
            .help = "Check every tag of each run, oldest first, not only the one that `latest` names."},
        {.name = "--list",
            .help = "List all findings that `check` can report. No checkpoint is "
                    "read."},
        jobsOption(), mpiOption()};
}

} // namespace

Command checkCommand()
{
    return {
        .name = "check",
        .summary = "find what is wrong with a checkpoint and how to repair it",
        .description
        = {"Looks for all known defects of checkpoints: files that are missing, stale, truncated or from "
           "another rank or step, parameters in another order, steps and options that disagree, NVMe folders "
           "of another state, universal folders with values that a converter misplaced, and more. Each "
           "finding says what it means for loading, for further training and for export, and what repairs "
           "it.",
            "Errors are listed first, and among equals what stock DeepSpeed would load silently. Nothing is "
            "changed. A "
            "checkpoint with findings at or above --fail-on gives exit status 1.",
            "With several paths, each has its own answer, also a path that cannot be read. The exit status "
            "is the worst of all: 3 when a path cannot be read, else 4 when one is not supported, else 1."},
        .positionals = {{.name = "PATH",
            .kind = ValueKind::Path,
            .help = "Run folder, tag folder, universal folder, or one file of a checkpoint.",
            .required = false,
            .repeats = true}},
        .options = joined(joined(checkOptions(), {copyOption()}), tagOptions()),
        .commonOptions = outputOptions(),
        .examples = {{"shardscope check runs/llama", "Is anything wrong with the tag that `latest` names?"},
            {"shardscope check runs/* --fail-on warning --sarif findings.sarif", "In CI, for many:"},
            {"shardscope check runs/llama --depth bytes", "Read every byte, whatever the size:"},
            {"shardscope check runs/llama --for world-size=6,stage=2",
                "Can training resume there without "
                "changes?"}},
        .run = runCheck,
        .reads = true,
    };
}

} // namespace shardscope::cli
