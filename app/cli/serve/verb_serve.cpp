// SPDX-License-Identifier: Apache-2.0
#include "app/cli/frame/common_options.h"
#include "app/cli/frame/exit.h"
#include "app/cli/jobs/compute_device.h"
#include "app/cli/jobs/write_job.h"
#include "app/cli/run.h"
#include "app/cli/serve/server.h"
#include "app/cli/verbs/verbs.h"
#include "core/torchfile/skeleton/skeleton_files.h"

#include <algorithm>

#include <unistd.h>

namespace shardscope::cli {

namespace {

constexpr uint64_t kLeastMemory = uint64_t{1} << 20; ///< of one request

/// Does with a session of the command what its verb would begin with.
template <class Work>
auto inSession(const std::vector<std::string>& words, io::FileSystem& files, JobContext& job,
    const Work& work) -> decltype(work(std::declval<Session&>()))
{
    SHARDSCOPE_TRY(const Parsed parsed, parse(program(), words));
    SHARDSCOPE_CHECK(requireReading(parsed));
    Output output(parsed.arguments, OutputSinks());
    Session session(parsed, output, files, job);
    SHARDSCOPE_CHECK(requireValues(session));
    return work(session);
}

Result<OpenedCheckpoint> openWords(
    const std::vector<std::string>& words, io::FileSystem& files, JobContext& job)
{
    std::vector<std::string> all{"params"};
    all.insert(all.end(), words.begin(), words.end());
    return inSession(all, files, job, [](Session& session) { return session.openModel(); });
}

Result<std::string> rawWords(const std::vector<std::string>& words, io::FileSystem& files, JobContext& job)
{
    return inSession(words, files, job, [](Session& session) -> Result<std::string> {
        const std::string& verb = session.parsed().command->name;
        if (verb == "diff")
            return comparedAsked(session);
        if (verb == "stats")
            return statisticsAsked(session);
        return fail(
            ErrorCode::Usage, "only `diff` and `stats` are asked for as `raw`, and not `" + verb + "`");
    });
}

Result<int> runServe(Session& session)
{
    const Arguments& arguments = session.arguments();
    SHARDSCOPE_TRY(io::StreamFile stream, io::StreamFile::of(STDOUT_FILENO));
    if (stream.isTerminal())
        return fail(ErrorCode::Usage, "frames are not written to a terminal", {},
            "start it from a program; `shardscope help serving` describes the protocol");
    ServerSettings settings;
    SHARDSCOPE_TRY(settings.workers, jobsAsked(arguments));
    settings.emit.memoryLimitBytes = std::max(
        arguments.size("--memory-limit").value_or(settings.emit.memoryLimitBytes) / settings.workers,
        kLeastMemory);
    for (const std::string& text : arguments.all("--to")) {
        SHARDSCOPE_TRY(const int descriptor, descriptorNumber(text));
        if (descriptor <= STDERR_FILENO)
            return fail(ErrorCode::Usage, "--to needs another descriptor than the standard streams");
        settings.descriptors.push_back(static_cast<uint32_t>(descriptor));
    }
    io::FileSystem& files = session.files();
    settings.plainFiles = &withoutSkeletons(files);
    settings.answer = [&files](const std::vector<std::string>& words, const OutputSinks& sinks,
                          JobContext& job) { return answerWords(words, sinks, files, job); };
    if (arguments.has("--allow-jobs"))
        settings.job = [&files](const std::vector<std::string>& words, const OutputSinks& sinks,
                           JobContext& job) { return jobWords(words, sinks, files, job); };
    settings.open = [&files](const std::vector<std::string>& words, JobContext& job) {
        return openWords(words, files, job);
    };
    settings.raw = [&files](const std::vector<std::string>& words, JobContext& job) {
        return rawWords(words, files, job);
    };
    Channel channel(std::move(stream));
    SHARDSCOPE_CHECK(session.output().writeFile({})); // errors of the frames go to standard error
    SHARDSCOPE_CHECK(Server(files, channel, std::move(settings)).run(STDIN_FILENO, session.job()));
    return kExitDone;
}

} // namespace

Command serveCommand()
{
    return {
        .name = "serve",
        .summary = "answer requests of another program on standard input",
        .description
        = {"Reads requests from standard input and writes replies to standard output, until the input ends: "
           "answers of commands that only read, elements of a box of a tensor, bytes of a planned output "
           "file. Checkpoints and plans stay open between requests, and several requests can be under way. "
           "It writes no file, unless a client may start jobs (--allow-jobs).",
            "It is for programs that would otherwise start a process for every question, such as the Python "
            "modules shardscope.deepspeed and shardscope.dcp. `shardscope help serving` describes the "
            "protocol."},
        .options = {jobsOption(), memoryOption(),
            {.name = "--to",
                .kind = ValueKind::Text,
                .valueName = "FD",
                .help
                = "A descriptor that the caller opened, and that planned files may be written to. Can be "
                  "repeated.",
                .repeats = true},
            {.name = "--allow-jobs",
                .help = "Start commands that write as processes of their own where a client asks for it, and "
                        "stop, resume and forget such jobs. Default: refused."}},
        .commonOptions = outputOptions(),
        .examples = {{"ssh node7 shardscope serve", "On another machine, for a program here:"}},
        .run = runServe,
    };
}

} // namespace shardscope::cli
