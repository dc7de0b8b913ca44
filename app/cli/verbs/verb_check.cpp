// SPDX-License-Identifier: Apache-2.0
#include "app/cli/frame/common_options.h"
#include "app/cli/frame/exit.h"
#include "app/cli/frame/word_list.h"
#include "app/cli/jobs/session.h"
#include "app/cli/jobs/text_file.h"
#include "app/cli/jobs/write_job.h"
#include "app/cli/verbs/verbs.h"
#include "core/report/answers/check_report.h"
#include "core/report/documents/html_report.h"
#include "core/report/documents/sarif_report.h"

#include <climits>

namespace shardscope::cli {

namespace {

/// Nothing where no finding fails.
std::optional<Severity> failOn(const Arguments& arguments)
{
    const std::string name = arguments.text("--fail-on");
    if (name == "never")
        return std::nullopt;
    return name == "info" ? Severity::Info : name == "warning" ? Severity::Warning : Severity::Error;
}

/// Nothing for `auto`.
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

/// Whether an error is about the path: an answer of its own, after which the next path is checked.
bool isOfPath(const Error& error)
{
    return error.code != ErrorCode::Usage && error.code != ErrorCode::Cancelled
        && error.code != ErrorCode::Internal;
}

Result<std::vector<CheckResult>> checkPaths(
    Session& session, const std::vector<std::string>& paths, const CheckOptions& options)
{
    std::vector<CheckResult> results;
    for (const std::string& path : paths) {
        auto result = checkPath(session, path, options);
        if (!result && !isOfPath(result.error()))
            return forward(std::move(result).error());
        if (result) {
            results.push_back(std::move(*result));
        } else {
            CheckResult unread;
            unread.path = path;
            unread.error = std::move(result).error();
            results.push_back(std::move(unread));
        }
    }
    SHARDSCOPE_CHECK(session.job().poll());
    return results;
}

Status writeReports(
    Session& session, const std::vector<CheckResult>& results, std::optional<CheckDepth> depth)
{
    const Arguments& arguments = session.arguments();
    const bool force = arguments.has("--force");
    if (const std::string path = arguments.text("--sarif"); !path.empty())
        SHARDSCOPE_CHECK(writeTextFile(session, path, sarifReport(results), force));
    if (const std::string path = arguments.text("--html"); !path.empty())
        SHARDSCOPE_CHECK(writeTextFile(session, path, htmlReport(results, depth), force));
    return {};
}

/// The worst of all paths: one that cannot be read (3), one that is not supported (4), then findings (1).
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
        return fail(ErrorCode::Usage, "no checkpoint is named", {}, "shardscope check PATH…");
    SHARDSCOPE_TRY(const CheckOptions options, optionsFrom(session));
    SHARDSCOPE_CHECK(checkStandardOutput(arguments, {"--sarif", "--html"}));
    const std::optional<CheckDepth> depth = depthAsked(arguments);
    SHARDSCOPE_TRY(const std::vector<CheckResult> results, checkPaths(session, paths, options));
    SHARDSCOPE_CHECK(writeReports(session, results, depth));
    if (results.size() == 1 && results.front().error) // as for every verb: there is no other answer
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
            = "How deep to look: at names and sizes of files, at their first and last bytes, at "
              "directories, pickles and a few values, or at every byte. `auto`, the default, looks at every "
              "byte of a checkpoint below 2 GiB, and else at metadata; the answer says what was "
              "not read.",
            .choices = {"auto", "names", "headers", "metadata", "bytes"}},
        {.name = "--fail-on",
            .kind = ValueKind::Choice,
            .valueName = "SEVERITY",
            .help = "The exit status is 1 when a finding is at least this severe; without it error.",
            .choices = {"info", "warning", "error", "never"}},
        {.name = "--only",
            .kind = ValueKind::Text,
            .valueName = "CODE",
            .help = "Look only for these findings, by code or letter, with commas between. Can be repeated.",
            .repeats = true},
        {.name = "--skip",
            .kind = ValueKind::Text,
            .valueName = "CODE",
            .help = "Do not look for these. Can be repeated.",
            .repeats = true},
        {.name = "--for",
            .kind = ValueKind::Text,
            .valueName = "TARGET",
            .help = "What the checkpoint is wanted for, as world-size=N,stage=S,memory=SIZE,disk=PATH, each "
                    "where it matters: what stands in the way is a finding, too."},
        {.name = "--sarif",
            .kind = ValueKind::File,
            .valueName = "FILE",
            .help = "Write the findings as SARIF 2.1.0 to this file, too. `-` is standard output: the answer "
                    "in words goes to standard error then, and --json is not possible."},
        {.name = "--html",
            .kind = ValueKind::File,
            .valueName = "FILE",
            .help = "Write them as a page for browsers, too. `-` as for --sarif."},
        {.name = "--force", .help = "Replace these files where they are there."},
        {.name = "--list", .help = "Show what can be found, and look at nothing."}, jobsOption()};
}

} // namespace

Command checkCommand()
{
    return {
        .name = "check",
        .summary = "find what is wrong with a checkpoint, and what it means",
        .description
        = {"Looks for everything that is known to go wrong with checkpoints: files that are missing, stale, "
           "torn or of another rank or step, parameters in another order, steps and options that disagree, "
           "NVMe folders of another state, universal folders that a converter scrambled, and more. Each "
           "finding says what it means for loading, for training on and for export, and what repairs it.",
            "First comes what stock DeepSpeed would load silently. Nothing is changed; a checkpoint "
            "with findings at or above --fail-on gives the exit status 1.",
            "Of several paths each has its own answer, also one that cannot be read. The exit status is the "
            "worst: 3 when a path cannot be read, else 4 when one is not supported, else 1."},
        .positionals = {{.name = "PATH",
            .kind = ValueKind::Path,
            .help = "Run folder, tag folder, universal folder, or one file of a checkpoint.",
            .required = false,
            .repeats = true}},
        .options = joined(checkOptions(), tagOptions()),
        .commonOptions = outputOptions(),
        .examples = {{"shardscope check runs/llama", "Is anything wrong with the tag that `latest` names?"},
            {"shardscope check runs/* --fail-on warning --sarif findings.sarif", "In CI, for many:"},
            {"shardscope check runs/llama --depth bytes", "Read every byte, however many there are:"},
            {"shardscope check runs/llama --for world-size=6,stage=2", "Can it go on there as it is?"}},
        .run = runCheck,
    };
}

} // namespace shardscope::cli
