// SPDX-License-Identifier: Apache-2.0
#pragma once

// Room core/jobs: commands that run as processes of their own on this machine, so that they outlive whoever
// started them: their records (job_store.h) and their start (job_process.h). Start with JobStore.

#include "core/io/file_system.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shardscope::jobs {

/// What a job is, as it is stored at its start.
struct JobRecord {
    std::string id = {}; ///< 8 of 0-9 and a-f
    std::vector<std::string> words = {}; ///< of the command line, without the program's name
    bool json = false; ///< its answer is JSON
    std::string host
        = {}; ///< how who started it calls this machine, for commands to run next; empty: unknown
    std::string target = {}; ///< what it writes; empty: it is not known
    std::string machine = {}; ///< where it ran last
    uint64_t started = 0; ///< its last start; milliseconds since the epoch, as all times here
    uint32_t process = 0; ///< of its last start; 0: none yet
    uint64_t processStart = 0; ///< startOfProcess(): numbers are used again
};

/// How it ended.
struct JobEnd {
    uint32_t exit = 0;
    uint64_t ended = 0;
};

enum class JobState {
    Running,
    Interrupted, ///< it was stopped, or its process ended without an answer
    Ended,
    Elsewhere, ///< on another machine that shares this cache, and not known to have ended
};
std::string_view stateName(JobState state);

struct JobEntry {
    JobRecord record;
    JobState state = JobState::Interrupted;
    std::optional<JobEnd> end;
    std::string progress; ///< the last line as of `--progress json`; empty: none
};

/// Files of a job's folder.
namespace job_file {
inline constexpr std::string_view kRecord = "job.json";
inline constexpr std::string_view kEnd = "end.json"; ///< written last
inline constexpr std::string_view kAnswer = "answer"; ///< its standard output
inline constexpr std::string_view kMessages = "messages"; ///< its standard error
inline constexpr std::string_view kProgress = "progress"; ///< the last line, padded with blanks
inline constexpr std::string_view kLock = "lock"; ///< the job holds it while it runs
} // namespace job_file

/// The jobs of this user: a folder for each in `jobs` of the user's cache, which only the user can read.
/// Links in it are not followed. Of ended jobs, the newest 50 stay. Several processes may use it;
/// thread-safe.
class JobStore
{
public:
    explicit JobStore(io::FileSystem& files);
    JobStore(io::FileSystem& files, io::Path folder)
        : m_files(files)
        , m_folder(std::move(folder))
    {
    }

    /// Whether this can be the id of a job.
    static bool isId(std::string_view text);

    /// Newest first. What is no job of ours is left out.
    [[nodiscard]] Result<std::vector<JobEntry>> all() const;
    /// NotFound, Damaged.
    [[nodiscard]] Result<JobEntry> entry(std::string_view id) const;
    /// Records a job that is to be started. Where the same command was interrupted or has failed, that one is
    /// taken again. Removes the oldest ended ones. Of `wanted`, words, json, host and target are set.
    [[nodiscard]] Result<JobRecord> add(JobRecord wanted) const;
    /// Asks a running one to stop, as Ctrl+C does. Usage if it does not run; WriteFailed.
    [[nodiscard]] Status stop(std::string_view id) const;
    /// Removes the record of one that does not run here; Busy, Usage.
    [[nodiscard]] Status forget(std::string_view id) const;
    /// Bytes of a file of the job from `offset` on, at most 256 KiB; empty where there are none.
    [[nodiscard]] Result<std::string> bytesOf(
        std::string_view id, std::string_view file, uint64_t offset) const;

    /// For the job itself.
    [[nodiscard]] io::Path pathOf(std::string_view id, std::string_view file) const;
    [[nodiscard]] Status writeRecord(const JobRecord& record) const;
    [[nodiscard]] Status writeEnd(std::string_view id, const JobEnd& end) const;
    [[nodiscard]] Result<std::unique_ptr<io::FileLock>> lock(std::string_view id) const;
    [[nodiscard]] Result<std::unique_ptr<io::WriteFile>> createProgress(std::string_view id) const;
    /// Removes what an earlier start has left, and keeps the record.
    void removeOutput(std::string_view id) const;

private:
    [[nodiscard]] JobState stateOf(const JobRecord& record, const std::optional<JobEnd>& end) const;
    [[nodiscard]] std::string small(std::string_view id, std::string_view file, uint64_t limit) const;
    void removeOldest() const;

    io::FileSystem& m_files;
    io::Path m_folder; ///< empty: the user has no cache
};

/// A job of JobState::Elsewhere cannot be asked here.
Error elsewhere(ErrorCode code, const JobRecord& record);

/// The name of this machine.
std::string machineName();
/// When the process with this number began, in ticks since this machine started. Nothing for one that has
/// ended, and for a number that no process can have.
std::optional<uint64_t> startOfProcess(uint32_t process);
uint64_t timeNow();

} // namespace shardscope::jobs
