// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/jobs/job_store.h"

#include <memory>
#include <string>

namespace shardscope::jobs {

/// The first word of the program's command line that runs a recorded job; its id follows.
inline constexpr std::string_view kJobWord = "__job";

/// Starts this program for the job: in a session of its own, so that nothing of this process, its terminal
/// or its connection reaches it, with files of the job as standard output and error. Returns when it runs:
/// from then on JobStore knows it as running. Busy if it runs already; WriteFailed.
Status startJob(const JobStore& store, const std::string& id);

/// The job's side, in the process that startJob() has made.
class JobRun
{
public:
    /// Takes the job's lock, gives the standard streams their files, records the process, and continues in
    /// a child whose parent has ended. Call it before any thread starts. Returns in the child only; errors
    /// are those of the parent.
    static Result<JobRun> begin(const JobStore& store, const std::string& id);

    [[nodiscard]] const JobRecord& record() const { return m_record; }
    /// Keeps this line in place of the last one; what fails is ignored. From any thread, one at a time.
    void keepProgress(std::string_view line);
    /// Records how it ended, after all of the answer was written.
    [[nodiscard]] Status end(int exit);

private:
    JobRun(const JobStore& store, JobRecord record, std::unique_ptr<io::FileLock> lock)
        : m_store(store)
        , m_record(std::move(record))
        , m_lock(std::move(lock))
    {
    }

    JobStore m_store;
    JobRecord m_record;
    std::unique_ptr<io::FileLock> m_lock;
    std::shared_ptr<io::WriteFile> m_progress;
};

} // namespace shardscope::jobs
