// SPDX-License-Identifier: Apache-2.0
#include "app/cli/run.h"

#include "app/cli/frame/arguments.h"
#include "app/cli/frame/completion.h"
#include "app/cli/frame/exit.h"
#include "app/cli/frame/help.h"
#include "app/cli/frame/next_command.h"
#include "app/cli/frame/terminal.h"
#include "app/cli/frame/version.h"
#include "app/cli/jobs/detached_job.h"
#include "app/cli/jobs/far_answer.h"
#include "app/cli/jobs/far_job.h"
#include "app/cli/jobs/far_paths.h"
#include "app/cli/jobs/peer_processes.h"
#include "app/cli/jobs/progress.h"
#include "app/cli/jobs/session.h"
#include "app/cli/jobs/signals.h"
#include "app/cli/jobs/text_file.h"
#include "app/cli/jobs/window_command.h"
#include "app/cli/schemas.h"
#include "core/base/job_context.h"
#include "core/base/shell_quote.h"
#include "core/checkpoint/folder/discover.h"
#include "core/far/far_files.h"
#include "core/far/far_host.h"
#include "core/far/far_path.h"
#include "core/io/limited_file_system.h"
#include "core/jobs/job_process.h"
#include "core/objects/object_files.h"
#include "core/report/answers/finding_report.h"
#include "core/report/jobs/jobs_report.h"
#include "core/report/text/printable.h"
#include "core/torchfile/skeleton/skeleton_files.h"

#include <algorithm>
#include <csignal>
#include <exception>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include <fcntl.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

namespace shardscope::cli {

namespace {

/// A log that appends timed lines to `path`; thread-safe. WriteFailed when the file cannot be opened or is
/// not a regular file: opening a FIFO could block forever.
Result<JobContext::LogSink> openLogFile(const std::string& path)
{
    std::error_code ignored;
    const auto status = std::filesystem::status(path, ignored);
    const bool isThere = std::filesystem::exists(status);
    if (isThere && !std::filesystem::is_regular_file(status))
        return fail(ErrorCode::WriteFailed,
            "the log file cannot be opened: it is a folder, FIFO, socket or device, not a regular file", path,
            "name another file with --log-file");
    // Lines are appended to what is there, so it must be certain what that is.
    if (!isThere && std::filesystem::is_symlink(std::filesystem::symlink_status(path, ignored)))
        return fail(ErrorCode::WriteFailed, "the log file cannot be opened: it is a broken link", path,
            "name another file with --log-file");
    if (isThere && std::filesystem::hard_link_count(path, ignored) > 1)
        return fail(ErrorCode::WriteFailed,
            "the log file cannot be opened: it has further names (hard links), which could be files of a "
            "checkpoint",
            path, "name another file with --log-file");
    try {
        auto sink = std::make_shared<spdlog::sinks::basic_file_sink_mt>(path);
        auto logger = std::make_shared<spdlog::logger>("shardscope", std::move(sink));
        logger->set_pattern("%Y-%m-%dT%H:%M:%S.%e%z %v");
        logger->flush_on(spdlog::level::info);
        // A log that cannot be written (full disk) must not end the job. By default, spdlog would print to
        // standard error.
        logger->set_error_handler([](const std::string&) {});
        return JobContext::LogSink(
            [logger = std::move(logger)](std::string_view line) { logger->info("{}", printable(line)); });
    } catch (const spdlog::spdlog_ex& error) {
        return fail(
            ErrorCode::WriteFailed, std::string("the log file cannot be opened: ") + error.what(), path);
    }
}

bool asksForJson(const std::vector<std::string>& words)
{
    const auto end = std::find(words.begin(), words.end(), "--");
    return std::find(words.begin(), end, "--json") != end;
}

std::vector<std::string> checkpointsInstead(io::FileSystem& files, const Error& error)
{
    JobContext job;
    return runsInstead(files, error, job);
}

/// The command to run next for somebody on another machine; none for ours, whose paths are of this one.
std::string fromHost(const std::string& host, const std::string& next)
{
    if (host.empty() || next.empty())
        return next;
    return next.starts_with("shardscope") ? std::string() : far::sshCommand(host, next);
}

/// Reports the error in the chosen output form, with the command to run next, and returns the exit code.
int report(
    Output& output, const Error& error, std::string next, io::FileSystem& files = far::farAndOwnFiles())
{
    const std::vector<std::string> runs = checkpointsInstead(files, error);
    if (!runs.empty())
        next = runs.size() > 1 && error.code == ErrorCode::NotACheckpoint
            ? "shardscope tags " + shellQuoted(error.path)
            : "shardscope inspect " + shellQuoted(runs.front());
    next = fromHost(output.host(), next);
    const auto asText = [&] {
        writeErrorText(
            [&](std::string_view text) { output.message(text); }, output.messageStyle(), error, next);
    };
    output.progressLine("");
    if (output.json())
        writeErrorJson(output.answer(), error, next, runs);
    else
        asText();
    // An error object that does not reach standard output must still be visible somewhere.
    (void)output.finishAnswer();
    if (output.json() && output.isAnswerLost())
        asText();
    return exitCode(error.code);
}

/// Adds a hint to an interruption: how to continue.
Error withWayOn(
    Error error, const Command& command, const std::vector<std::string>& words, const jobs::JobRun* detached)
{
    if (error.code != ErrorCode::Cancelled || !error.hint.text.empty())
        return error;
    if (detached != nullptr) {
        const jobs::JobRecord& record = detached->record();
        error.hint = {"`" + jobsCommand(record.host, "--resume", record.id) + "` continues from here",
            {{Retry::Shown}}};
        return error;
    }
    error.hint = {command.resumes
            ? "the same command continues from here: " + asTyped(words) + " (--restart starts again)"
            : "nothing was written; run it again: " + asTyped(words),
        {{Retry::Shown}}};
    return error;
}

Result<int> runVerb(Session& session)
{
    SHARDSCOPE_CHECK(requireValues(session));
    return session.parsed().command->run(session);
}

/// What other hosts were asked, for those who look at slow lines.
void logTraffic(JobContext& job)
{
    for (const auto& [host, traffic] : far::farTraffic())
        job.log(host + ": " + std::to_string(traffic.questions) + " questions, "
            + std::to_string(traffic.bytesSent) + " bytes sent, " + std::to_string(traffic.bytesReceived)
            + " bytes received");
    if (const auto traffic = objects::objectsAndOwnFiles().traffic(); traffic.requests > 0)
        job.log("object store: " + std::to_string(traffic.requests) + " requests, "
            + std::to_string(traffic.bytesReceived) + " bytes received");
}

/// `serve` and jobs work on their own machine: requests lead them to no other one.
io::FileSystem& filesFor(const Parsed& parsed, const jobs::JobRun* detached = nullptr)
{
    static SkeletonFiles files(far::farAndOwnFiles());
    return parsed.command->name == "serve" || detached != nullptr ? realFilesAndSkeletons() : files;
}

void setFar(const Parsed& parsed, Output& output, std::stop_token stop)
{
    far::FarSettings settings;
    settings.mayInstall = !parsed.arguments.has("--no-remote-install");
    settings.says = [&](std::string_view line) {
        if (!output.quiet())
            output.message(std::string(line) + "\n");
    };
    settings.stop = std::move(stop);
    far::setFarSettings(std::move(settings));
}

/// What another host answers or runs; nothing where the command is for this process.
Result<std::optional<int>> runElsewhere(const Parsed& parsed, Output& output, JobContext& job)
{
    SHARDSCOPE_TRY(auto code, runJobThere(parsed, output, job));
    if (code)
        return code;
    auto answered = answerThere(parsed, output, job);
    if (!answered && job.cancelled())
        return forward(job.poll().error());
    return answered;
}

JobContext::ProgressSink progressFor(const Parsed& parsed, Output& output, jobs::JobRun* detached)
{
    if (detached != nullptr)
        return [detached](const Progress& progress) { detached->keepProgress(progressJson(progress)); };
    return progressSink(output, parsed.arguments);
}

/// `detached`: what this process runs as; null: a command of its own.
Result<int> runCommand(Parsed& parsed, Output& output, jobs::JobRun* detached)
{
    std::stop_source stop;
    if (detached == nullptr) {
        SHARDSCOPE_CHECK(takeFarPaths(parsed));
        setFar(parsed, output, stop.get_token());
    } else {
        SHARDSCOPE_CHECK(requireJob(parsed)); // whatever its record says
    }
    SHARDSCOPE_CHECK(checkWrittenFiles(parsed, filesFor(parsed, detached)));
    JobContext::LogSink fileLog;
    if (const std::string path = parsed.arguments.text("--log-file"); !path.empty()) {
        SHARDSCOPE_CHECK(
            requireFile(path, "the log file", Hint::add("--verbose") + " writes the same to standard error"));
        SHARDSCOPE_TRY(fileLog, openLogFile(path));
    }
    const auto log = [&output, fileLog](std::string_view line) {
        if (output.verbose())
            output.message(printable(line) + "\n");
        if (fileLog)
            fileLog(line);
    };
    const bool isPeer = parsed.arguments.has("--mpi") && isSilentPeer();
    const SignalWatcher watcher(stop, [&] {
        if (!output.quiet() && !isPeer && detached == nullptr)
            output.message("stopping; running writes are finished first\n");
    });
    JobContext job(
        stop.get_token(), isPeer ? JobContext::ProgressSink() : progressFor(parsed, output, detached), log);
    const auto rate = parsed.arguments.size("--bwlimit");
    if (rate == uint64_t{0})
        return fail(ErrorCode::Usage, "--bwlimit must be at least 1 byte a second");
    std::optional<io::LimitedFileSystem> limited;
    std::optional<SkeletonFiles> skeletons; // above the limit: holdsNoValues() asks the outermost
    if (rate)
        skeletons.emplace(
            limited.emplace(withoutSkeletons(filesFor(parsed, detached)), *rate, stop.get_token()));
    io::FileSystem& files = skeletons ? *skeletons : filesFor(parsed, detached);
    Session session(parsed, output, files, job);
    SHARDSCOPE_CHECK(refuseCopies(parsed));
    std::optional<int> there;
    if (detached == nullptr) {
        SHARDSCOPE_TRY(there, runElsewhere(parsed, output, job));
    }
    SHARDSCOPE_TRY(const std::unique_ptr<Peers> peers, joinAsked(parsed.arguments));
    auto code = there ? Result<int>(*there)
        : peers       ? runWithPeers(session, *peers, runVerb)
                      : runVerb(session);
    if (!code && !far::farTraffic().empty() && stop.stop_requested())
        code = forward(job.poll().error()); // Ctrl+C reaches ssh, too, and its end is no error of the host
    output.progressLine("");
    logTraffic(job);
    if (!code)
        return code;
    SHARDSCOPE_CHECK(output.finishAnswer());
    copyWindowCommand(session);
    return code;
}

Result<int> answerHere(const Parsed& parsed, Output& output, io::FileSystem& files, JobContext& job)
{
    Session session(parsed, output, files, job);
    SHARDSCOPE_TRY(const int code, runVerb(session));
    SHARDSCOPE_CHECK(output.finishAnswer());
    return code;
}

int reportNoCommand(Output& output, const Parsed& parsed)
{
    const int code = report(output,
        {ErrorCode::Usage, "a command is missing", {}, "see `" + commandLine(parsed.path) + " --help`"}, {});
    if (!output.json())
        writeCommandList([&](std::string_view text) { output.message(text); }, output.messageStyle(),
            parsed.path, textWidth(STDERR_FILENO));
    return code;
}

int answerWithoutVerb(const Parsed& parsed, Output& output, const std::vector<std::string>& words)
{
    if (parsed.arguments.has("--help") && output.json())
        writeHelpJson(output.answer(), parsed.path);
    else if (parsed.arguments.has("--help"))
        writeHelp(output.answer(), output.answerStyle(), parsed.path, textWidth(STDOUT_FILENO));
    else if (parsed.arguments.has("--version"))
        writeVersion(output.answer(), output.json());
    else
        return reportNoCommand(output, parsed);
    if (const Status written = output.finishAnswer(); !written)
        return report(output, written.error(), nextCommand(written.error(), &parsed, words));
    return kExitDone;
}

/// For errors before the command line is parsed, and for internal errors.
Output plainOutput(const std::vector<std::string>& words)
{
    Arguments arguments;
    if (asksForJson(words))
        arguments.set("--json", {"true"});
    return Output(arguments);
}

/// `detached`: as for runCommand().
int runWords(const std::vector<std::string>& words, jobs::JobRun* detached = nullptr)
{
    if (!words.empty() && words.front() == kCompleteWord) {
        Output output = plainOutput({});
        output.answer()(completionsOf(program(), std::span(words).subspan(1)));
        (void)output.finishAnswer();
        return kExitDone;
    }
    if (words.size() == 2 && words[0] == kSchemasWord)
        return writeSchemas(words[1]) ? kExitDone : exitCode(ErrorCode::WriteFailed);
    auto parsed = parse(program(), words);
    const bool isPeer = std::ranges::find(words, "--mpi") != words.end() && isSilentPeer();
    if (!parsed && isPeer)
        return kExitDone; // the first process says what is wrong
    if (!parsed) {
        Output output = plainOutput(words);
        return report(output, parsed.error(), nextCommand(parsed.error(), nullptr, words));
    }
    Output output(parsed->arguments, detached == nullptr ? std::string() : detached->record().host);
    if (parsed->arguments.has("--help") || parsed->command->run == nullptr)
        return answerWithoutVerb(*parsed, output, words);
    const auto code = runCommand(*parsed, output, detached);
    if (code)
        return *code;
    if (isPeer)
        return exitCode(code.error().code); // and what went wrong
    const Error error = withNearPath(withWayOn(code.error(), *parsed->command, words, detached), words);
    return report(output, error, nextCommand(error, &*parsed, words), filesFor(*parsed, detached));
}

/// Opens /dev/null for closed standard streams, in a mode in which using them stays an error. Otherwise the
/// next opened file would get the number, and the answer would be written into it.
void occupyStandardStreams()
{
    for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
        if (fcntl(stream, F_GETFD) < 0)
            (void)open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
    }
}

int reportBug(const std::vector<std::string>& words, const std::string& what)
{
    Output output = plainOutput(words);
    const Error error{ErrorCode::Internal, what, {}, "please report it with the command line"};
    return report(output, error, nextCommand(error, nullptr, words));
}

/// The limits of a machine are no defect of the program.
int reportNoMemory(const std::vector<std::string>& words)
{
    const auto parsed = parse(program(), words);
    const bool writes = parsed && parsed->command->resumes;
    Output output = plainOutput(words);
    const Error error{writes ? ErrorCode::WriteFailed : ErrorCode::Unreadable, "there is not enough memory",
        {}, "free some, or raise the limit (ulimit -v, the job's memory); fewer --jobs need less"};
    return report(output, error, nextCommand(error, nullptr, words));
}

} // namespace

Status requireReading(const Parsed& parsed)
{
    const Command& command = *parsed.command;
    for (const char* option : {"--stop", "--resume", "--forget"}) {
        if (command.name == "jobs" && parsed.arguments.has(option))
            return fail(ErrorCode::Usage,
                std::string("`") + option + "` is not a question; ask for a `job` with these words");
    }
    if (!command.reads)
        return fail(ErrorCode::Usage,
            "`serve` answers commands that only read, and not `" + command.name + "`", {},
            "run it as a command");
    for (const auto* options : {&command.options, &command.commonOptions}) {
        for (const Option& option : *options) {
            const bool toFile = option.kind == ValueKind::NewFile && parsed.arguments.has(option.name)
                && parsed.arguments.text(option.name) != kStandardOutput;
            if (toFile)
                return fail(ErrorCode::Usage, "`serve` writes no file, as " + option.name + " asks", {},
                    Hint::omit(option.name));
        }
    }
    for (const char* option : {"--mpi", "--bwlimit"}) {
        if (parsed.arguments.has(option))
            return fail(
                ErrorCode::Usage, std::string("`serve` answers without ") + option, {}, Hint::omit(option));
    }
    return {};
}

namespace {

/// Answers words of a request with `run`, as JSON unless the sinks take messages. `jsonErrors`: errors are
/// JSON in any case.
int answerRequest(const std::vector<std::string>& asked, const OutputSinks& sinks, io::FileSystem& files,
    bool jsonErrors, const std::function<Result<int>(const Parsed& parsed, Output& output)>& run)
{
    std::vector<std::string> words;
    if (!sinks.message)
        words.emplace_back("--json");
    words.insert(words.end(), asked.begin(), asked.end());
    const auto parsed = parse(program(), words);
    Arguments json;
    if (!sinks.message || jsonErrors)
        json.set("--json", {"true"});
    Output output(parsed ? parsed->arguments : json, sinks);
    Output jsonOutput(json, sinks);
    Output& errors = jsonErrors ? jsonOutput : output;
    if (!parsed)
        return report(errors, parsed.error(), nextCommand(parsed.error(), nullptr, words), files);
    if (parsed->arguments.has("--help") || parsed->command->run == nullptr)
        return answerWithoutVerb(*parsed, output, words);
    const auto code = run(*parsed, output);
    if (code)
        return *code;
    const Error error = withNearPath(code.error(), words);
    return report(errors, error, nextCommand(error, &*parsed, words), files);
}

/// Starts the command, and answers with its job; or runs `jobs`.
Result<int> changeJobs(const Parsed& parsed, Output& output, io::FileSystem& files, JobContext& job)
{
    if (parsed.command->name == "jobs")
        return answerHere(parsed, output, files, job);
    SHARDSCOPE_TRY(const jobs::JobEntry started, startDetached(parsed, output, files));
    writeJobsJson(output.answer(), {started});
    SHARDSCOPE_CHECK(output.finishAnswer());
    return kExitDone;
}

int runAnyWords(const std::vector<std::string>& words, jobs::JobRun* detached = nullptr)
{
    try {
        return runWords(words, detached);
    } catch (const std::bad_alloc&) {
        return reportNoMemory(words);
    } catch (const std::exception& error) {
        return reportBug(words, std::string("internal error: ") + error.what());
    }
}

/// Runs a recorded job; its parent has started it.
int runDetached(const std::string& id)
{
    auto run = jobs::JobRun::begin(jobs::JobStore(io::realFileSystem()), id);
    if (!run)
        return exitCode(run.error().code);
    const int code = runAnyWords(run->record().words, &*run);
    (void)std::fflush(stdout);
    return run->end(code) ? code : exitCode(ErrorCode::WriteFailed);
}

} // namespace

int answerWords(
    const std::vector<std::string>& asked, const OutputSinks& sinks, io::FileSystem& files, JobContext& job)
{
    return answerRequest(
        asked, sinks, files, false, [&](const Parsed& parsed, Output& output) -> Result<int> {
            SHARDSCOPE_CHECK(requireReading(parsed));
            return answerHere(parsed, output, files, job);
        });
}

int jobWords(
    const std::vector<std::string>& asked, const OutputSinks& sinks, io::FileSystem& files, JobContext& job)
{
    // Who starts a job reads its record or its error, even where the job's own answer is text.
    const bool isStart = asked.empty() || asked.front() != "jobs";
    return answerRequest(asked, sinks, files, isStart,
        [&](const Parsed& parsed, Output& output) { return changeJobs(parsed, output, files, job); });
}

int run(int argc, char** argv)
{
    endWithParent();
    occupyStandardStreams();
    // A closed pipe is then a write error, and ends no job.
    (void)std::signal(SIGPIPE, SIG_IGN);
    const std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
    if (words.size() == 2 && words[0] == jobs::kJobWord)
        return runDetached(words[1]);
    return runAnyWords(words);
}

} // namespace shardscope::cli
