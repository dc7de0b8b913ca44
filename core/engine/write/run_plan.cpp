// SPDX-License-Identifier: Apache-2.0
#include "core/engine/write/run_plan.h"

#include "core/base/parallel.h"
#include "core/base/sha256.h"
#include "core/checkpoint/folder/wrapper_files.h"
#include "core/checkpoint/model/file_names.h"
#include "core/engine/stream/manifest.h"
#include "core/engine/stream/manifest_reader.h"
#include "core/engine/verify/verify_others.h"
#include "core/engine/write/export_publish.h"
#include "core/engine/write/output_builder.h"
#include "core/engine/write/preflight.h"
#include "core/engine/write/run_checks.h"
#include "core/engine/write/work_place.h"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>

namespace shardscope {

namespace {

constexpr uint64_t kManifestLimit = uint64_t{1} << 34;

/// Of this process, user and system, so far.
double processorSeconds()
{
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    const auto seconds = [](const timeval& time) {
        return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
    };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

/// One run of a plan, from the first check of the target to the removal of the work folder.
class Execution : private RunChecks
{
public:
    Execution(io::FileSystem& files, const WritePlan& plan, const ExecuteOptions& options,
        const ExecuteHooks& hooks, JobContext& job)
        : RunChecks(files, plan, options, job)
        , m_hooks(hooks)
    {
    }

    Result<ExecuteReport> run();

private:
    Result<bool> finishedBefore();
    void reuseSealed(const JournalSeal& seal);
    Status removeRests();
    Status prepareAndBuild();
    Status build();
    Status buildIn(OutputBuilder& build);
    Status seal(OutputBuilder& build);
    Status commit();
    Status commitTag();
    Status commitExport();
    void removeMadeFolders();
    Status checkSealedFiles();
    Status moveToRunFolder(const std::string& name, bool replace);
    Status movePointer();
    Status publish();

    const ExecuteHooks& m_hooks;
    std::vector<io::Path> m_madeFolders; ///< created by this run, the deepest first
    StageTimes m_times;
    ExecuteReport m_report;
};

Result<ExecuteReport> Execution::run()
{
    const auto start = std::chrono::steady_clock::now();
    const double processorAtStart = processorSeconds();
    const double heldBackAtStart = m_files.secondsHeldBack();
    m_report.output = m_target;
    SHARDSCOPE_CHECK(begin());
    SHARDSCOPE_TRY(const bool finished, finishedBefore());
    if (!finished) {
        SHARDSCOPE_TRY(m_report.wasDone, wasDone());
        if (m_report.wasDone) {
            SHARDSCOPE_CHECK(removeRests());
            m_report.bytesReused = m_plan.writesBytes;
            return m_report;
        }
        if (!m_isPublishing)
            SHARDSCOPE_CHECK(prepareAndBuild());
        SHARDSCOPE_CHECK(checkWaiting());
        SHARDSCOPE_CHECK(commit());
    } else {
        SHARDSCOPE_CHECK(checkSealedFiles());
    }
    SHARDSCOPE_CHECK(publish());
    m_report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    m_report.compute = reportOf(m_options.compute);
    m_report.stageSeconds = m_times.seconds();
    m_report.processorSeconds = processorSeconds() - processorAtStart;
    const double written = m_plan.writesBytes == 0
        ? 0
        : static_cast<double>(m_report.bytesWritten) / static_cast<double>(m_plan.writesBytes);
    m_report.bytesRead = static_cast<uint64_t>(static_cast<double>(m_plan.readsBytes) * written);
    m_report.secondsHeldBack = m_files.secondsHeldBack() - heldBackAtStart;
    m_report.bytesReadBack = m_report.verified ? m_report.bytesWritten : 0;
    if (m_report.seconds > 0)
        m_report.bytesPerSecond = static_cast<double>(m_report.bytesWritten) / m_report.seconds;
    return m_report;
}

/// What an earlier run left because its removal of the work folder was interrupted: after the commit, it is
/// blank.
Status Execution::removeRests()
{
    for (const io::Path& place : {m_options.destination, m_workPlace})
        SHARDSCOPE_CHECK(WorkFolder::removeRest(m_files, m_plan, place));
    if (m_targetThere && !m_options.force && m_work && m_work->isBlank())
        return m_work->remove();
    return {};
}

Status Execution::prepareAndBuild()
{
    SHARDSCOPE_CHECK(removeRests());
    SHARDSCOPE_CHECK(checkTarget());
    Status built = build();
    if (!built)
        removeMadeFolders();
    return built;
}

/// Removes empty folders that this run created: a failed job leaves only its work folder.
void Execution::removeMadeFolders()
{
    for (const io::Path& folder : m_madeFolders) {
        if (!m_files.removeFile(folder))
            return;
    }
}

/// Opens the work folder if there is one, and determines whether an earlier run was stopped after the commit.
Result<bool> Execution::finishedBefore()
{
    SHARDSCOPE_TRY(const bool there, exists(m_files, WorkFolder::pathFor(m_plan, m_workPlace)));
    if (!there)
        return false;
    SHARDSCOPE_TRY(m_work, WorkFolder::open(m_files, m_plan, m_workPlace, m_options.lease, m_job));
    // Only now no other job can be running; the target may have been created meanwhile.
    SHARDSCOPE_TRY(m_targetThere, isOccupied(m_files, m_plan, m_target));
    SHARDSCOPE_TRY(const bool finished, isSealedInTarget());
    if (finished || m_isPublishing) {
        reuseSealed(*m_work->journal().seal);
        return finished;
    }
    if (m_options.restart)
        SHARDSCOPE_CHECK(m_work->clear());
    return false;
}

void Execution::reuseSealed(const JournalSeal& seal)
{
    m_report.bytesReused = m_plan.writesBytes;
    m_report.verified = seal.verified;
    m_report.fingerprint = seal.fingerprint;
}

Status Execution::build()
{
    SHARDSCOPE_CHECK(checkSourcesAsPlanned(m_files, m_plan));
    SHARDSCOPE_CHECK(checkOptions());
    const unsigned jobs = m_options.jobs == 0 ? defaultJobs() : m_options.jobs;
    const MemoryPlan memory
        = divideMemory(m_options.memoryLimitBytes, jobs, m_plan.files.size(), m_options.verify);
    m_report.peakBufferBytes = memory.totalBytes();
    m_report.workers = memory.workers;
    const bool isShared = m_options.peers != nullptr && m_options.peers->size() > 1;
    if (!m_work) {
        // Before anything is created: a job without enough space leaves no files.
        // Processes that share a file write it.
        const uint64_t shared
            = isShared ? 0 : sharedBytes(m_files, m_plan, m_workPlace, [](size_t) { return false; });
        SHARDSCOPE_CHECK(checkSpace(m_files, m_workPlace, m_plan.writesBytes - shared, m_plan.files.size()));
        SHARDSCOPE_TRY(m_madeFolders, missingFolders(m_files, m_workPlace));
        SHARDSCOPE_CHECK(makeDurableFolder(m_files, m_workPlace));
        SHARDSCOPE_TRY(m_work, WorkFolder::open(m_files, m_plan, m_workPlace, m_options.lease, m_job));
    }
    OutputBuilder builder(m_files, m_plan, *m_work,
        {memory, *m_options.compute.backend, m_times, m_options.sha256, m_options.verify}, m_options, m_job);
    const Status built = buildIn(builder);
    if (built)
        return {};
    Error error = built.error();
    switch (error.code) {
    case ErrorCode::Damaged:
    case ErrorCode::SourceChanged:
    case ErrorCode::VerifyFailed:
        // A later run cannot use output that was made from such bytes.
        (void)m_work->clear();
        (void)m_work->remove();
        break;
    case ErrorCode::Cancelled:
        error = {ErrorCode::Cancelled, "stopped on request; finished pieces are kept",
            m_work->path().string(), "run the same command to continue; --restart starts again"};
        break;
    default:
        break;
    }
    return forward(std::move(error));
}

Status Execution::buildIn(OutputBuilder& build)
{
    SHARDSCOPE_CHECK(build.replay());
    const uint64_t missing = build.bytesMissing();
    SHARDSCOPE_CHECK(checkSpace(m_files, m_work->path(), build.spaceMissing(), build.filesMissing()));
    SHARDSCOPE_CHECK(build.write());
    m_report.bytesWritten = missing;
    m_report.bytesReused = m_plan.writesBytes - missing;
    SHARDSCOPE_CHECK(build.checkSources());
    if (m_options.verify) {
        std::unique_ptr<OutputModel> model;
        if (m_hooks.openOutput) {
            SHARDSCOPE_TRY(model, m_hooks.openOutput(m_files, m_work->filesFolder(), m_plan, m_job));
        }
        SHARDSCOPE_CHECK(build.verify(model.get()));
        m_report.verified = true;
        m_report.readDirectly = build.readDirectly();
    }
    SHARDSCOPE_CHECK(build.readChanged());
    return seal(build);
}

Status Execution::seal(OutputBuilder& build)
{
    if (m_hooks.fingerprint) {
        SHARDSCOPE_TRY(m_report.fingerprint, m_hooks.fingerprint(m_files, m_plan, build.digests(), m_job));
    }
    SHARDSCOPE_CHECK(m_job.poll());
    const std::string manifest
        = manifestText(m_plan, build.takeFiles(), m_report.fingerprint, m_options.sourceRun);
    SHARDSCOPE_CHECK(writeAndReadBack(m_files, m_work->filesFolder() / kManifestName, manifest));
    if (!m_plan.pointerName.empty())
        SHARDSCOPE_CHECK(writeAndReadBack(m_files, m_work->pointerFile(), m_plan.targetName));
    return m_work->seal({0, sha256Of(manifest), m_report.verified, m_report.fingerprint});
}

Status Execution::commit()
{
    SHARDSCOPE_CHECK(m_work->checkHeld());
    SHARDSCOPE_CHECK(m_plan.outcome == OutcomeKind::Export ? commitExport() : commitTag());
    SHARDSCOPE_CHECK(m_files.syncDirectory(m_options.destination));
    return m_files.syncDirectory(m_work->path());
}

/// A new target appears complete, with one rename. Files are moved one by one into an existing target.
Status Execution::commitExport()
{
    SHARDSCOPE_TRY(const bool there, exists(m_files, m_target));
    if (!there)
        return m_files.renameNoReplace(m_work->filesFolder(), m_target);
    if (!m_isPublishing) {
        SHARDSCOPE_TRY(const bool occupied, isOccupied(m_files, m_plan, m_target));
        if (occupied && !m_options.force)
            return refuseExistingTarget();
        // The job may have taken hours: what is there now must still be replaceable.
        SHARDSCOPE_CHECK(
            checkTargetPlaces(m_files, m_plan, m_options.destination, m_options.sourceRunFolder));
        SHARDSCOPE_CHECK(checkReplaceable(m_files, m_plan, m_target));
    }
    return publishIntoFolder(m_files, m_plan, *m_work, m_target, m_options.force);
}

Status Execution::commitTag()
{
    SHARDSCOPE_TRY(const bool occupied, isOccupied(m_files, m_plan, m_target));
    if (occupied && m_options.force) {
        // The job may have taken hours: what is there now must still be replaceable.
        SHARDSCOPE_TRY(const io::FileInfo old, m_files.stat(m_target));
        SHARDSCOPE_CHECK(
            checkTargetPlaces(m_files, m_plan, m_options.destination, m_options.sourceRunFolder));
        SHARDSCOPE_CHECK(checkReplaceable(m_files, m_plan, m_target));
        SHARDSCOPE_CHECK(m_files.exchange(m_work->filesFolder(), m_target));
        // The old one is removed with the work folder: it must be the one that was examined.
        const auto taken = m_files.stat(m_work->filesFolder());
        if (taken && taken->identity.inode == old.identity.inode)
            return {};
        SHARDSCOPE_CHECK(m_files.exchange(m_work->filesFolder(), m_target));
        return fail(ErrorCode::TargetExists, "another process replaced the target meanwhile",
            m_target.string(), "choose another folder or tag");
    }
    return m_files.renameNoReplace(m_work->filesFolder(), m_target);
}

/// Files that an earlier run was to publish next to the target: whether they are as it left them.
Status Execution::checkSealedFiles()
{
    SHARDSCOPE_TRY(const std::string text, m_files.readSmall(m_target / kManifestName, kManifestLimit));
    SHARDSCOPE_TRY(const Manifest manifest, parseManifest(text));
    for (const auto& [path, sealed] : manifest.files) {
        const io::Path place = m_work->placeOf(path);
        SHARDSCOPE_TRY(const bool waits, isNextToTag(path) ? exists(m_files, place) : Result<bool>(false));
        if (!waits)
            continue;
        SHARDSCOPE_TRY(
            const ManifestFile found, readManifestFile(m_files, place, manifest.digestKind(), m_job));
        if (found.digest != sealed.digest)
            return fail(ErrorCode::VerifyFailed, "another program changed a file that is not published yet",
                place.string(), "write the tag again with " + Hint::add("--restart") + " --force");
    }
    return {};
}

/// Moves a file from the work folder to its place next to the target, once.
Status Execution::moveToRunFolder(const std::string& name, bool replace)
{
    const io::Path made = m_work->runFilesFolder() / name;
    SHARDSCOPE_TRY(const bool there, exists(m_files, made));
    if (!there)
        return {}; // moved by an earlier run
    if (replace)
        return m_files.rename(made, m_options.destination / name);
    const Status moved = m_files.renameNoReplace(made, m_options.destination / name);
    return !moved && moved.error().code == ErrorCode::TargetExists ? Status() : moved;
}

/// The file may wait since an earlier run; others may have changed it.
Status Execution::movePointer()
{
    SHARDSCOPE_TRY(const bool isSame, holdsBytes(m_files, m_work->pointerFile(), m_plan.targetName));
    if (!isSame) {
        SHARDSCOPE_CHECK(m_files.removeTree(m_work->pointerFile()));
        SHARDSCOPE_CHECK(writeAndReadBack(m_files, m_work->pointerFile(), m_plan.targetName));
    }
    return m_files.rename(m_work->pointerFile(), m_options.destination / m_plan.pointerName);
}

/// After the commit: nothing here can damage the target, and a later run can repeat all of it.
Status Execution::publish()
{
    SHARDSCOPE_CHECK(checkWaiting()); // the commit may have happened long ago
    for (const PlannedFile& file : m_plan.files) {
        if (isNextToTag(file.path))
            SHARDSCOPE_CHECK(moveToRunFolder(file.path.substr(kNextToTag.size()), m_options.force));
    }
    for (const OutputFile& file : m_plan.runFolderFiles)
        SHARDSCOPE_CHECK(moveToRunFolder(file.path, false));
    if (!m_plan.pointerName.empty()) {
        SHARDSCOPE_TRY(const bool there, exists(m_files, m_work->pointerFile()));
        // An earlier run may have stopped between the rename of the target and its sync.
        SHARDSCOPE_CHECK(m_files.syncDirectory(m_options.destination));
        if (there)
            SHARDSCOPE_CHECK(movePointer());
    }
    SHARDSCOPE_CHECK(m_files.syncDirectory(m_options.destination));
    if (const Status removed = m_work->remove(); !removed)
        m_job.log("the target is complete; the work folder was not removed: " + describe(removed.error()));
    return {};
}

} // namespace

Result<ExecuteReport> runPlan(io::FileSystem& files, const WritePlan& plan, const ExecuteOptions& options,
    const ExecuteHooks& hooks, JobContext& job)
{
    return Execution(files, plan, options, hooks, job).run();
}

} // namespace shardscope
