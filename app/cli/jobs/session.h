// SPDX-License-Identifier: Apache-2.0
#pragma once

// Folder app/cli/jobs: what verbs share while they run: opening the paths, progress, signals, planning and
// running writes. Start with Session, then WriteJob.

#include "app/cli/frame/arguments.h"
#include "app/cli/frame/output.h"
#include "core/base/job_context.h"
#include "core/base/shared_work.h"
#include "core/checkpoint/open/open.h"
#include "core/io/file_system.h"
#include "core/report/answers/answer.h"

namespace shardscope::cli {

/// Everything one verb needs while it runs.
class Session
{
public:
    Session(const Parsed& parsed, Output& output, io::FileSystem& files, JobContext& job)
        : m_parsed(parsed)
        , m_output(output)
        , m_files(files)
        , m_job(job)
    {
    }

    [[nodiscard]] const Parsed& parsed() const { return m_parsed; }
    [[nodiscard]] const Arguments& arguments() const { return m_parsed.arguments; }
    [[nodiscard]] Output& output() const { return m_output; }
    [[nodiscard]] io::FileSystem& files() const { return m_files; }
    [[nodiscard]] JobContext& job() const { return m_job; }
    /// False for requests of `serve`: not even a measurement may be kept.
    [[nodiscard]] bool mayWrite() const { return !m_output.hasStreamForFile(); }

    /// The processes that run the same command and share its work; null if this one works alone.
    [[nodiscard]] SharedWork* shared() const { return m_shared; }
    void setShared(SharedWork* shared) { m_shared = shared; }

    /// PATH, or SRC of verbs that write.
    [[nodiscard]] std::string askedPath() const;
    /// The same, but with --donor that one.
    [[nodiscard]] std::string openedPath() const;
    /// --tag and --root; with --donor, PATH is the first root.
    [[nodiscard]] OpenOptions openOptions() const;
    /// Opens PATH, or the donor given with --donor, with these options.
    Result<OpenedCheckpoint> openPath() const;
    /// The same for verbs that need a tag: NotFound when none was chosen.
    Result<OpenedCheckpoint> openTag() const;
    /// The same for verbs that need the model: Unsupported for kinds this build cannot interpret, Damaged
    /// when too little is readable. Prints findings as warnings.
    Result<OpenedCheckpoint> openModel() const;
    /// Opens the checkpoint to compare with. It must have a model, too.
    Result<OpenedCheckpoint> openOther(const std::string& path, const std::string& tag) const;

    [[nodiscard]] AnswerContext context(
        const OpenedCheckpoint& opened, const ComputeChoice* compute = nullptr) const;

private:
    const Parsed& m_parsed;
    Output& m_output;
    io::FileSystem& m_files;
    JobContext& m_job;
    SharedWork* m_shared = nullptr;
};

/// Unsupported when the command needs values and an argument is a skeleton, which has none.
Status requireValues(const Session& session);
/// Unsupported when `path` is a skeleton; `what` needs its values.
Status requireValuesIn(io::FileSystem& files, const std::string& path, std::string_view what);

} // namespace shardscope::cli
