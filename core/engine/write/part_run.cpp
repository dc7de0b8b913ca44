// SPDX-License-Identifier: Apache-2.0
#include "core/engine/write/part_run.h"

#include "core/base/parallel.h"
#include "core/engine/write/output_builder.h"
#include "core/engine/write/preflight.h"
#include "core/engine/write/run_checks.h"
#include "core/engine/write/work_place.h"

#include <chrono>

namespace shardscope {

namespace {

/// Refuses in the same cases as a run of the whole plan. Whether the whole job is done.
Result<bool> checkPart(
    io::FileSystem& files, const WritePlan& plan, Part part, const ExecuteOptions& options, JobContext& job)
{
    if (part.count == 0 || part.index >= part.count)
        return fail(ErrorCode::Usage, "a part I/N needs I from 0 to N - 1");
    if (options.restart)
        return fail(ErrorCode::Usage, "--restart would discard the other parts", {},
            Hint::omit("--restart") + ", or remove the whole job first, with clean --remove");
    if (options.sha256)
        return fail(ErrorCode::Usage, "--sha256 is for the step that completes the files", {},
            Hint::omit("--sha256") + " here, and use it with --finish");
    return RunChecks(files, plan, options, job).beforePart();
}

} // namespace

Status examinePart(
    io::FileSystem& files, const WritePlan& plan, Part part, const ExecuteOptions& options, JobContext& job)
{
    SHARDSCOPE_TRY(const bool done, checkPart(files, plan, part, options, job));
    if (done)
        return {};
    SHARDSCOPE_TRY(const io::Path place, workPlaceOf(files, plan, options.destination));
    SHARDSCOPE_CHECK(checkWritable(files, place));
    SHARDSCOPE_TRY(const auto ranges, rangesOf(plan, part, options.pieces));
    return checkSpace(files, place, bytesOf(ranges), ranges.size());
}

Result<PartReport> executePart(
    io::FileSystem& files, const WritePlan& plan, Part part, const ExecuteOptions& options, JobContext& job)
{
    const auto start = std::chrono::steady_clock::now();
    SHARDSCOPE_CHECK(job.poll());
    SHARDSCOPE_TRY(const bool done, checkPart(files, plan, part, options, job));
    SHARDSCOPE_TRY(const auto ranges, rangesOf(plan, part, options.pieces));
    SHARDSCOPE_TRY(const io::Path place, workPlaceOf(files, plan, options.destination));
    if (done) {
        PartReport before;
        before.part = part;
        before.workFolder = WorkFolder::pathFor(plan, place);
        before.bytes = before.bytesReused = bytesOf(ranges);
        before.files = ranges.size();
        before.compute = reportOf(options.compute);
        return before;
    }
    SHARDSCOPE_CHECK(makeDurableFolder(files, place));
    SHARDSCOPE_TRY(const auto work, WorkFolder::openPart(files, plan, place, part, options.lease, job));

    SHARDSCOPE_TRY(PieceJournal known, work->partJournals());
    const auto missing = without(ranges, rangesOf(known.pieces));
    SHARDSCOPE_TRY(const auto pieces, splitRanges(plan, missing, options.pieces));
    SHARDSCOPE_CHECK(checkSpace(files, work->path(), unreservedBytes(files, plan, *work, pieces, true), 0));

    PartReport report;
    report.part = part;
    report.workFolder = work->path();
    report.bytes = bytesOf(ranges);
    report.bytesWritten = bytesOf(pieces);
    report.bytesReused = report.bytes - report.bytesWritten;
    report.files = ranges.size();
    const unsigned jobs = options.jobs == 0 ? defaultJobs() : options.jobs;
    const MemoryPlan memory
        = divideMemory(options.memoryLimitBytes, jobs, std::max<size_t>(pieces.size(), 1), options.verify);
    StageTimes times;
    const PartResources resources{memory, *options.compute.backend, times,
        [&](const std::string& path) { return work->placeOf(path); }, [&] { return work->checkHeld(); }};
    PartWriter writer(files, plan, resources, job);
    const Status written = writer.write(pieces, known.pieces, ReadsBack{.own = options.verify},
        journalEvents(files, work->partJournal(WorkFolder::nameOf(part)), resources.mayWrite));
    if (!written && written.error().code == ErrorCode::Cancelled)
        return fail(ErrorCode::Cancelled, "stopped on request; finished pieces are kept",
            work->path().string(), "run the same command to continue");
    if (!written && written.error().code == ErrorCode::NoSpace)
        return forward(withMissingBytes(
            files, work->path(), unreservedBytes(files, plan, *work, pieces, true), written.error()));
    SHARDSCOPE_CHECK(written);
    report.verified = options.verify;
    report.compute = reportOf(options.compute);
    report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (report.seconds > 0)
        report.bytesPerSecond = static_cast<double>(report.bytesWritten) / report.seconds;
    return report;
}

} // namespace shardscope
