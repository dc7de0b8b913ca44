// SPDX-License-Identifier: Apache-2.0
#include "core/engine/write/output_builder.h"

#include "core/base/text.h"
#include "core/engine/verify/verify_files.h"
#include "core/engine/write/preflight.h"
#include "core/io/crc32.h"
#include "core/plan/model/output_bytes.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>

namespace shardscope {

namespace {

/// Dirty bytes of all workers together: the maximum that the last fsync, and so a cancel, has to wait for.
constexpr uint64_t kDirtyLimit = uint64_t{192} << 20;
constexpr uint64_t kMinWindow = uint64_t{4} << 20;
constexpr uint64_t kMaxWindow = uint64_t{32} << 20;

} // namespace

OutputBuilder::OutputBuilder(io::FileSystem& files, const WritePlan& plan, WorkFolder& work,
    const BuildResources& resources, JobContext& job)
    : m_files(files)
    , m_plan(plan)
    , m_work(work)
    , m_memory(resources.memory)
    , m_backend(resources.backend)
    , m_times(resources.times)
    , m_sha256(resources.sha256)
    , m_readsBack(resources.readsBack)
    , m_job(job)
    , m_sources(files, plan.sources(), SourcePool::limitFor(m_memory.workers),
          static_cast<size_t>(m_memory.coverBytes()))
    , m_finished(plan.files().size())
    , m_written(plan.files().size())
{
    for (size_t i = 0; i < m_memory.workers; ++i)
        m_buffers.emplace_back(m_memory.buffersPerWorker, m_memory.chunkBytes, m_backend);
    resetSums();
    if (work.isBlank())
        return;
    std::unordered_map<std::string, size_t> byPath;
    for (size_t i = 0; i < plan.files().size(); ++i)
        byPath.emplace(plan.files()[i].path, i);
    for (const JournalFile& file : work.journal().files) {
        const auto found = byPath.find(file.path);
        const bool isAsked = (io::digestKindOf(file.digest) == io::DigestKind::Sha256) == m_sha256;
        if (isAsked && found != byPath.end() && plan.files()[found->second].bytes == file.bytes)
            m_finished[found->second] = file;
    }
}

void OutputBuilder::resetSums()
{
    m_crcs = std::make_unique<SourceCrcs>(m_plan.sources());
    m_digests = std::make_unique<ElementDigests>(m_plan.tensors());
    std::ranges::fill(m_written, std::nullopt);
}

OutputFileSettings OutputBuilder::settings(ReadBack* readBack) const
{
    OutputFileSettings out;
    out.readBack = readBack;
    out.sha256 = m_sha256;
    out.threaded = m_memory.buffersPerWorker > 1;
    out.mayGetName = [this] { return m_work.checkHeld(); };
    out.windowBytes = std::clamp(kDirtyLimit / (2 * m_memory.workers), kMinWindow, kMaxWindow);
    return out;
}

Status OutputBuilder::replay()
{
    for (;;) {
        std::vector<size_t> lost;
        const Status status = replayAll(lost);
        if (status && lost.empty())
            break;
        if (!status && status.error().code == ErrorCode::Cancelled)
            return status;
        // A file that changed on the disk makes the sums wrong, and may have been reported as a damaged
        // source.
        lost.clear();
        SHARDSCOPE_CHECK(findLost(lost));
        if (lost.empty())
            return status;
        for (const size_t index : lost) {
            m_job.log("a finished file changed and is written again: " + m_plan.files()[index].path);
            m_finished[index].reset();
        }
        resetSums();
    }
    std::vector<JournalFile> kept;
    for (const auto& file : m_finished) {
        if (file)
            kept.push_back(*file);
    }
    return m_work.prepare(kept);
}

Status OutputBuilder::replayAll(std::vector<size_t>& lost)
{
    std::vector<size_t> indices;
    uint64_t bytes = 0;
    for (size_t i = 0; i < m_finished.size(); ++i) {
        if (m_finished[i]) {
            indices.push_back(i);
            bytes += m_finished[i]->bytes;
        }
    }
    if (indices.empty())
        return {};
    m_job.beginPhase("checking finished files", bytes);
    Halt halt(m_job);
    const WalkContext context{m_plan, m_sources, *m_crcs, *m_digests, m_backend, m_times, halt};
    std::mutex mutex;
    return runWorkers(indices.size(), m_memory.workers, halt, [&](size_t worker, size_t item) -> Status {
        const size_t index = indices[item];
        SHARDSCOPE_TRY(const OutputFile recipe, m_plan.recipe(index));
        SHARDSCOPE_TRY(auto file,
            replayOutputFile(m_files, context,
                {recipe, m_plan.files()[index].bytes, m_work.placeOf(recipe.path)}, m_buffers[worker],
                settings()));
        if (file.digest == m_finished[index]->digest) {
            m_written[index] = std::move(file);
            return {};
        }
        const std::lock_guard lock(mutex);
        lost.push_back(index);
        return {};
    });
}

Status OutputBuilder::findLost(std::vector<size_t>& lost)
{
    for (size_t index = 0; index < m_finished.size(); ++index) {
        if (!m_finished[index])
            continue;
        const auto intact = [&]() -> Result<bool> {
            SHARDSCOPE_TRY(const auto file, m_files.openRead(m_work.placeOf(m_finished[index]->path)));
            if (file->size() != m_finished[index]->bytes)
                return false;
            io::ContentDigest digest(io::digestKindOf(m_finished[index]->digest));
            ChunkBuffers& buffer = m_buffers[0];
            for (uint64_t offset = 0; offset < file->size();) {
                SHARDSCOPE_CHECK(m_job.poll());
                const std::span<uint8_t> chunk(
                    buffer.at(0), std::min<uint64_t>(buffer.bytes(), file->size() - offset));
                SHARDSCOPE_CHECK(file->readAt(offset, chunk));
                digest.update(chunk);
                offset += chunk.size();
            }
            return digest.finish() == m_finished[index]->digest;
        }();
        if (!intact && intact.error().code == ErrorCode::Cancelled)
            return forward(intact.error());
        if (!intact || !*intact)
            lost.push_back(index);
    }
    return {};
}

uint64_t OutputBuilder::bytesMissing() const
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < m_written.size(); ++i)
        bytes += m_written[i] ? 0 : m_plan.files()[i].bytes;
    return bytes;
}

uint64_t OutputBuilder::spaceMissing() const
{
    return bytesMissing()
        - sharedBytes(m_files, m_plan, m_work.path(), [&](size_t i) { return m_written[i].has_value(); });
}

uint64_t OutputBuilder::filesMissing() const
{
    return static_cast<uint64_t>(std::ranges::count_if(m_written, [](const auto& file) { return !file; }));
}

Status OutputBuilder::write()
{
    std::vector<size_t> indices;
    for (size_t i = 0; i < m_written.size(); ++i) {
        if (!m_written[i])
            indices.push_back(i);
    }
    // What is read back meanwhile counts, too.
    m_job.beginPhase("writing", bytesMissing() * (m_readsBack ? 2 : 1));
    Halt halt(m_job);
    const std::unique_ptr<ReadBack> readBack = m_readsBack ? newReadBack(halt) : nullptr;
    const WalkContext context{m_plan, m_sources, *m_crcs, *m_digests, m_backend, m_times, halt};
    auto written
        = runWorkers(indices.size(), m_memory.workers, halt, [&](size_t worker, size_t item) -> Status {
              const size_t index = indices[item];
              const PlannedFile& planned = m_plan.files()[index];
              SHARDSCOPE_TRY(const OutputFile recipe, m_plan.recipe(index));
              SHARDSCOPE_TRY(auto file,
                  writeOutputFile(m_files, context, {recipe, planned.bytes, m_work.placeOf(planned.path)},
                      m_buffers[worker], settings(readBack.get())));
              m_written[index] = std::move(file);
              return m_work.recordFinished(*m_written[index]);
          });
    if (written)
        written = writeRunFolderFiles(readBack.get());
    written = endOf(readBack.get(), std::move(written));
    m_isReadBack.assign(m_written.size(), false);
    for (const size_t index : indices)
        m_isReadBack[index] = m_readsBack;
    if (!written && written.error().code == ErrorCode::NoSpace)
        return forward(withMissingBytes(std::move(written).error()));
    return written;
}

std::unique_ptr<ReadBack> OutputBuilder::newReadBack(Halt& halt) const
{
    const size_t threads = m_memory.buffersPerWorker > 1 ? m_memory.workers : 0;
    return std::make_unique<ReadBack>(threads, m_memory.chunkBytes, m_backend, m_times, halt);
}

/// Waits for the files that are still read back, if any are. A failure there is the reason for that of the
/// writers.
Status OutputBuilder::endOf(ReadBack* readBack, Status written)
{
    if (readBack == nullptr)
        return written;
    if (!written) {
        const auto failure = readBack->failure();
        return failure && failure->code != ErrorCode::Cancelled ? Status(forward(*failure)) : written;
    }
    written = readBack->finish();
    m_readDirectly = m_readDirectly && readBack->readDirectly();
    return written;
}

Status OutputBuilder::writeRunFolderFiles(ReadBack* readBack)
{
    Halt halt(m_job);
    const WalkContext context{m_plan, m_sources, *m_crcs, *m_digests, m_backend, m_times, halt};
    for (const OutputFile& file : m_plan.runFolderFiles()) {
        SHARDSCOPE_TRY(const uint64_t bytes, outputBytes(file));
        SHARDSCOPE_TRY([[maybe_unused]] const auto written,
            writeOutputFile(m_files, context, {file, bytes, m_work.runFilesFolder() / file.path},
                m_buffers[0], settings(readBack)));
    }
    return {};
}

Error OutputBuilder::withMissingBytes(Error error)
{
    const uint64_t needed = spaceMissing();
    const auto space = m_files.space(m_work.path());
    if (space && space->freeBytes < needed)
        error.message += "; " + formatCount(needed) + " more bytes are needed, "
            + formatCount(space->freeBytes) + " are free, " + formatCount(needed - space->freeBytes) + " ("
            + formatBytes(needed - space->freeBytes) + ") are missing";
    error.hint = "free some space there and run the same command again; finished files are kept";
    return error;
}

Status OutputBuilder::checkSources()
{
    const auto gaps = m_crcs->gaps();
    const uint64_t bytes = std::accumulate(gaps.begin(), gaps.end(), uint64_t{0},
        [](uint64_t sum, const auto& gap) { return sum + gap.range.end - gap.range.begin; });
    m_job.beginPhase("checking the source", bytes);
    Halt halt(m_job);
    SHARDSCOPE_CHECK(runWorkers(gaps.size(), m_memory.workers, halt,
        [&](size_t worker, size_t item) { return readGap(gaps[item], m_buffers[worker]); }));
    return m_sources.checkUnchanged();
}

Status OutputBuilder::readGap(const SourceCrcs::Gap& gap, ChunkBuffers& buffers)
{
    SHARDSCOPE_TRY(const auto file, m_sources.open(gap.source));
    const uint64_t payload = m_plan.sources()[gap.source].records[gap.record].payloadOffset;
    std::vector<ByteRange> unclaimed;
    m_crcs->claim(gap.source, gap.record, gap.range, unclaimed);
    for (const ByteRange& range : unclaimed) {
        uint32_t crc = 0;
        for (uint64_t at = range.begin; at < range.end;) {
            SHARDSCOPE_CHECK(m_job.poll());
            const std::span<uint8_t> chunk(
                buffers.at(0), std::min<uint64_t>(buffers.bytes(), range.end - at));
            SHARDSCOPE_CHECK(file->readAt(payload + at, chunk));
            crc = io::crc32(crc, chunk);
            at += chunk.size();
            m_job.advance(chunk.size());
        }
        SHARDSCOPE_CHECK(m_crcs->complete(gap.source, gap.record, range, crc));
    }
    return {};
}

Status OutputBuilder::verify(const OutputModel* model)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < m_written.size(); ++i)
        bytes += m_isReadBack[i] ? 0 : m_written[i]->bytes;
    m_job.beginPhase("verifying", bytes);
    ClaimedElements found(m_plan.tensors().size());
    Halt halt(m_job);
    const std::unique_ptr<ReadBack> readBack = bytes > 0 ? newReadBack(halt) : nullptr;
    const VerifyContext context{m_files, m_plan, model, found, m_job};
    SHARDSCOPE_CHECK(endOf(readBack.get(),
        runWorkers(m_written.size(), m_memory.workers, halt, [&](size_t, size_t index) -> Status {
            const WrittenFile& written = *m_written[index];
            const io::Path place = m_work.placeOf(written.path);
            if (readBack && !m_isReadBack[index]) {
                SHARDSCOPE_TRY(const OutputFile recipe, m_plan.recipe(index));
                SHARDSCOPE_CHECK(
                    readBackOutputFile(m_files, {recipe, written.bytes, place}, written, *readBack));
            }
            return verifyStructure(index, place, written, context);
        })));
    if (model)
        return compareElements(m_plan.tensors(), m_digests->claimed(), found);
    return {};
}

std::vector<WrittenFile> OutputBuilder::takeFiles()
{
    std::vector<WrittenFile> out;
    out.reserve(m_written.size());
    for (auto& file : m_written)
        out.push_back(std::move(*file));
    m_written.clear();
    return out;
}

} // namespace shardscope
