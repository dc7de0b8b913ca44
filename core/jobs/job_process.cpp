// SPDX-License-Identifier: Apache-2.0
#include "core/jobs/job_process.h"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

namespace shardscope::jobs {

namespace {

constexpr size_t kLineBytes = 512;

/// The environment of this process, without the word that ends a command with its caller.
std::vector<char*> environmentOfJob()
{
    constexpr std::string_view kParent = "SHARDSCOPE_PARENT=";
    std::vector<char*> out;
    for (char** entry = environ; *entry != nullptr; ++entry) {
        if (!std::string_view(*entry).starts_with(kParent))
            out.push_back(*entry);
    }
    out.push_back(nullptr);
    return out;
}

/// -1: errno says why.
pid_t spawnSession(std::vector<std::string> words)
{
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
        posix_spawn_file_actions_addopen(&actions, stream, "/dev/null", O_RDWR, 0);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    sigset_t none;
    sigemptyset(&none);
    sigset_t restored;
    sigemptyset(&restored);
    for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE})
        sigaddset(&restored, number);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &restored);
    posix_spawnattr_setflags(
        &attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    std::vector<char*> arguments;
    for (std::string& word : words)
        arguments.push_back(word.data());
    arguments.push_back(nullptr);
    std::vector<char*> environment = environmentOfJob();
    pid_t process = -1;
    const int failed = ::posix_spawn(
        &process, "/proc/self/exe", &actions, &attributes, arguments.data(), environment.data());
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    errno = failed;
    return failed == 0 ? process : -1;
}

Error notStarted(const std::string& why)
{
    return {ErrorCode::WriteFailed, "the job cannot be started: " + why, {}, {}};
}

/// Opens a new file of the job as a standard stream.
Status takeStream(const io::Path& path, int stream)
{
    const int file
        = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (file < 0 || ::dup2(file, stream) < 0)
        return fail(ErrorCode::WriteFailed,
            "the job's output cannot be kept: " + std::string(std::strerror(errno)), path.string());
    ::close(file);
    return {};
}

} // namespace

Status startJob(const JobStore& store, const std::string& id)
{
    SHARDSCOPE_TRY(const JobEntry job, store.entry(id));
    if (job.state == JobState::Running)
        return fail(ErrorCode::Busy, "the job " + id + " runs already", {}, "attach to it");
    if (job.state == JobState::Elsewhere)
        return forward(elsewhere(ErrorCode::Busy, job.record));
    const pid_t process = spawnSession({"shardscope", std::string(kJobWord), id});
    if (process < 0)
        return forward(notStarted(std::strerror(errno)));
    int status = 0;
    while (::waitpid(process, &status, 0) < 0) {
        if (errno != EINTR)
            return forward(notStarted(std::strerror(errno)));
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return {};
    return forward(notStarted(WIFEXITED(status)
            ? "its process ended with exit status " + std::to_string(WEXITSTATUS(status))
            : "its process was ended by signal " + std::to_string(WTERMSIG(status))));
}

Result<JobRun> JobRun::begin(const JobStore& store, const std::string& id)
{
    SHARDSCOPE_TRY(JobEntry job, store.entry(id));
    SHARDSCOPE_TRY(auto lock, store.lock(id));
    JobRecord record = std::move(job.record);
    record.machine = machineName();
    // From the lock on it counts as running, and the number of its last process may be another one's by now.
    record.process = 0;
    record.processStart = 0;
    SHARDSCOPE_CHECK(store.writeRecord(record));
    store.removeOutput(id);
    SHARDSCOPE_CHECK(takeStream(store.pathOf(id, job_file::kAnswer), STDOUT_FILENO));
    SHARDSCOPE_CHECK(takeStream(store.pathOf(id, job_file::kMessages), STDERR_FILENO));
    record.started = timeNow(); // after its files are new: who shows the job then begins again with them
    const pid_t child = ::fork(); // which has the lock, too
    if (child < 0)
        return forward(notStarted(std::strerror(errno)));
    if (child > 0) {
        record.process = static_cast<uint32_t>(child);
        record.processStart = startOfProcess(record.process).value_or(0);
        const Status written = store.writeRecord(record);
        if (!written)
            (void)::kill(child, SIGKILL);
        _exit(written ? 0 : exitCode(written.error().code));
    }
    return JobRun(store, std::move(record), std::move(lock));
}

void JobRun::keepProgress(std::string_view line)
{
    if (line.size() >= kLineBytes)
        return;
    if (!m_progress) {
        auto file = m_store.createProgress(m_record.id);
        if (!file)
            return;
        m_progress = std::move(*file);
    }
    std::string padded(line);
    padded.resize(kLineBytes, ' ');
    (void)m_progress->writeAt(0, std::span(reinterpret_cast<const uint8_t*>(padded.data()), padded.size()));
}

Status JobRun::end(int exit)
{
    return m_store.writeEnd(m_record.id, {static_cast<uint32_t>(exit), timeNow()});
}

} // namespace shardscope::jobs
