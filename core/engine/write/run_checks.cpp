// SPDX-License-Identifier: Apache-2.0
#include "core/engine/write/run_checks.h"

#include "core/base/sha256.h"
#include "core/checkpoint/model/file_names.h"
#include "core/engine/verify/made_target.h"
#include "core/engine/write/clean.h"
#include "core/engine/write/export_publish.h"
#include "core/engine/write/preflight.h"
#include "core/engine/write/work_place.h"

#include <algorithm>
#include <set>

namespace shardscope {

namespace {

constexpr uint64_t kManifestLimit = uint64_t{1} << 34;

} // namespace

RunChecks::RunChecks(
    io::FileSystem& files, const WritePlan& plan, const ExecuteOptions& options, JobContext& job)
    : m_files(files)
    , m_plan(plan)
    , m_options(options)
    , m_job(job)
    , m_target(options.destination / plan.targetName)
{
}

/// The first looks, which change nothing.
Status RunChecks::begin()
{
    SHARDSCOPE_CHECK(m_job.poll());
    SHARDSCOPE_CHECK(checkJob(m_files, m_plan, m_options));
    SHARDSCOPE_TRY(m_workPlace, workPlaceOf(m_files, m_plan, m_options.destination));
    SHARDSCOPE_TRY(m_targetThere, isOccupied(m_files, m_plan, m_target));
    return {};
}

Result<RunOutlook> RunChecks::look()
{
    SHARDSCOPE_CHECK(begin());
    SHARDSCOPE_TRY(m_work, WorkFolder::look(m_files, m_plan, m_workPlace));
    if (m_work && isWorkFolderInUse(m_files, m_work->path()))
        return fail(ErrorCode::Busy, "another process is working on this target", m_work->path().string(),
            "wait until it ends");
    RunOutlook out;
    SHARDSCOPE_TRY(const bool finished, m_work ? isSealedInTarget() : Result<bool>(false));
    if (finished || m_isPublishing) { // what is left is to move files
        SHARDSCOPE_CHECK(checkWaiting());
        return out;
    }
    SHARDSCOPE_TRY(out.isDone, wasDone());
    if (out.isDone)
        return out;
    SHARDSCOPE_CHECK(checkTarget());
    SHARDSCOPE_CHECK(checkSourcesAsPlanned(m_files, m_plan));
    SHARDSCOPE_CHECK(checkOptions());
    if (m_work && !m_options.restart)
        SHARDSCOPE_CHECK(m_work->checkPlan());
    SHARDSCOPE_CHECK(checkWritable(m_files, m_workPlace));
    SHARDSCOPE_TRY(out.bytesLeft, bytesLeft());
    SHARDSCOPE_CHECK(checkSpace(m_files, m_workPlace, out.bytesLeft, m_plan.files.size()));
    return out;
}

Result<bool> RunChecks::beforePart()
{
    SHARDSCOPE_CHECK(begin());
    SHARDSCOPE_TRY(const bool done, wasDone());
    if (done)
        return true;
    SHARDSCOPE_CHECK(checkTarget());
    SHARDSCOPE_CHECK(checkSourcesAsPlanned(m_files, m_plan));
    return false;
}

/// Without what an interrupted run finished, and what shares the bytes of its source. A restart frees what it
/// discards.
Result<uint64_t> RunChecks::bytesLeft()
{
    std::set<size_t> begun;
    uint64_t known = 0;
    if (m_work) {
        SHARDSCOPE_TRY(const PieceJournal parts, m_work->partJournals());
        for (const PieceRecord& record : parts.pieces) {
            begun.insert(record.piece.file);
            known += record.piece.range.end - record.piece.range.begin;
        }
    }
    known += sharedBytes(m_files, m_plan, m_workPlace, [&](size_t file) { return begun.contains(file); });
    return m_plan.writesBytes - std::min(known, m_plan.writesBytes);
}

/// Whether the sealed files of the work folder are the target. Sets m_isPublishing where some of them are.
Result<bool> RunChecks::isSealedInTarget()
{
    if (!m_work->journal().seal || (m_options.restart && m_options.force))
        return false;
    SHARDSCOPE_TRY(const bool finished, m_targetThere ? holdsSealedManifest() : Result<bool>(false));
    SHARDSCOPE_TRY(const bool isThere, exists(m_files, m_target));
    if (!finished && m_plan.outcome == OutcomeKind::Export && isThere) {
        SHARDSCOPE_TRY(m_isPublishing, isPublishing(m_files, m_plan, *m_work, m_target, m_job));
    }
    return finished;
}

/// Whether an earlier run of the same plan finished, so that this one has nothing to do.
Result<bool> RunChecks::wasDone()
{
    if (!m_targetThere || m_options.force || m_isPublishing || m_options.sha256)
        return false;
    return isDone(m_files, m_plan, m_options.destination, m_job);
}

/// Whether the manifest in the target is the sealed one of the work folder and was moved from there.
Result<bool> RunChecks::holdsSealedManifest()
{
    const JournalSeal& seal = *m_work->journal().seal;
    const auto manifest = m_files.readSmall(m_target / kManifestName, kManifestLimit);
    if (!manifest && manifest.error().code != ErrorCode::NotFound)
        return forward(manifest.error());
    if (!manifest || sha256Of(*manifest) != seal.manifestSha256)
        return false;
    SHARDSCOPE_TRY(const io::FileInfo info, m_files.stat(m_target));
    if (info.identity.inode == seal.inode)
        return true; // the whole folder was renamed
    if (m_plan.outcome != OutcomeKind::Export)
        return false;
    SHARDSCOPE_TRY(const bool waits, exists(m_files, m_work->filesFolder() / kManifestName));
    return !waits;
}

/// What is at the target and next to it may stay or be replaced.
Status RunChecks::checkTarget()
{
    if (m_targetThere && !m_options.force)
        return refuseExistingTarget();
    if (m_targetThere)
        SHARDSCOPE_CHECK(checkReplaceable(m_files, m_plan, m_target));
    return m_options.force ? Status()
                           : checkRunFolderFiles(m_files, m_plan, m_options.destination, {}, m_job);
}

Status RunChecks::refuseExistingTarget()
{
    return fail(ErrorCode::TargetExists, "the target exists already", m_target.string(),
        "choose another folder or tag, or replace it with --force");
}

/// Options that do not go together.
Status RunChecks::checkOptions()
{
    if (!m_work && m_options.finish)
        return fail(ErrorCode::Refused, "no part of this job was written yet", m_target.string(),
            Hint::omit("--finish") + " to write all of it here, or write parts with --part I/N");
    return {};
}

/// Whether the files that will be published next to the target do not conflict with others.
Status RunChecks::checkWaiting()
{
    if (m_options.force)
        return {};
    return checkRunFolderFiles(m_files, m_plan, m_options.destination, m_work->runFilesFolder(), m_job);
}

} // namespace shardscope
