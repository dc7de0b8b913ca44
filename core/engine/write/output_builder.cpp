// SPDX-License-Identifier: Apache-2.0
#include "core/engine/write/output_builder.h"

#include "core/engine/stream/source_check.h"
#include "core/engine/verify/verify_files.h"
#include "core/engine/write/preflight.h"

#include <algorithm>
#include <unordered_map>

namespace shardscope {

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
    , m_sources(files, plan.sources, SourcePool::limitFor(m_memory.workers),
          static_cast<size_t>(m_memory.coverBytes()))
    , m_finished(plan.files.size())
    , m_written(plan.files.size())
{
    for (size_t i = 0; i < m_memory.workers; ++i)
        m_buffers.emplace_back(m_memory.buffersPerWorker, m_memory.chunkBytes, m_backend);
    resetSums();
    if (work.isBlank())
        return;
    std::unordered_map<std::string, size_t> byPath;
    for (size_t i = 0; i < plan.files.size(); ++i)
        byPath.emplace(plan.files[i].path, i);
    for (const JournalFile& file : work.journal().files) {
        const auto found = byPath.find(file.path);
        const bool isAsked = (io::digestKindOf(file.digest) == io::DigestKind::Sha256) == m_sha256;
        if (isAsked && found != byPath.end() && plan.files[found->second].bytes == file.bytes)
            m_finished[found->second] = file;
    }
}

void OutputBuilder::resetSums()
{
    m_crcs = std::make_unique<SourceCrcs>(m_plan.sources);
    m_digests = std::make_unique<ElementDigests>(m_plan.tensors);
    std::ranges::fill(m_written, std::nullopt);
}

OutputFileSettings OutputBuilder::settings(ReadBack* readBack) const
{
    OutputFileSettings out;
    out.readBack = readBack;
    out.sha256 = m_sha256;
    out.threaded = m_memory.buffersPerWorker > 1;
    out.mayGetName = [this] { return m_work.checkHeld(); };
    out.windowBytes = m_memory.writeBackWindow();
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
            m_job.log("a finished file changed and is written again: " + m_plan.files[index].path);
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
                {recipe, m_plan.files[index].bytes, m_work.placeOf(recipe.path)}, m_buffers[worker],
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
        bytes += m_written[i] ? 0 : m_plan.files[i].bytes;
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
              const PlannedFile& planned = m_plan.files[index];
              SHARDSCOPE_TRY(const OutputFile recipe, m_plan.recipe(index));
              SHARDSCOPE_TRY(auto file,
                  writeOutputFile(m_files, context, {recipe, planned.bytes, m_work.placeOf(planned.path)},
                      m_buffers[worker], settings(readBack.get())));
              m_written[index] = std::move(file);
              return m_work.recordFinished(*m_written[index]);
          });
    if (written)
        written = writeRunFolderFiles(m_files, context, m_work, m_buffers[0], settings(readBack.get()));
    written = endOf(readBack.get(), std::move(written));
    m_isReadBack.assign(m_written.size(), false);
    for (const size_t index : indices)
        m_isReadBack[index] = m_readsBack;
    if (!written && written.error().code == ErrorCode::NoSpace)
        return forward(withMissingBytes(m_files, m_work.path(), spaceMissing(), std::move(written).error()));
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

Status OutputBuilder::checkSources()
{
    return SourceCheck{m_plan, m_sources, *m_crcs, m_buffers, m_job}.readRest();
}

Status OutputBuilder::verify(const OutputModel* model)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < m_written.size(); ++i)
        bytes += m_isReadBack[i] ? 0 : m_written[i]->bytes;
    m_job.beginPhase("verifying", bytes);
    ClaimedElements found(m_plan.tensors.size());
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
        return compareElements(m_plan.tensors, m_digests->claimed(), found);
    return {};
}

Status OutputBuilder::readChanged()
{
    std::vector<const WrittenFile*> written;
    for (const auto& file : m_written)
        written.push_back(&*file);
    Halt halt(m_job);
    ReadBack readBack(0, m_memory.chunkBytes, m_backend, m_times, halt);
    return readBackChanged(m_files, m_plan, m_work, written, readBack);
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
