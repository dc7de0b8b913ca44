// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/stream/memory_plan.h"
#include "core/engine/stream/output_file.h"
#include "core/engine/verify/verify_output.h"
#include "core/engine/write/execute.h"
#include "core/engine/write/work_folder.h"

#include <memory>
#include <optional>
#include <vector>

namespace shardscope {

/// What a build uses, and the times that it records.
struct BuildResources {
    const MemoryPlan& memory;
    const ComputeBackend& backend;
    StageTimes& times;
    bool sha256 = false; ///< record SHA-256 of every file
    bool readsBack = true; ///< read everything back while it is written
};

/// Creates all files of a plan in the work folder. Reuses files of an interrupted run, writes the rest,
/// completes the checksums of all sources, and reads the result back.
///
/// Steps in this order: replay, write, checkSources, verify. Not thread-safe; the steps use many threads.
class OutputBuilder
{
public:
    OutputBuilder(io::FileSystem& files, const WritePlan& plan, WorkFolder& work,
        const BuildResources& resources, JobContext& job);

    /// Reads the files of the journal and discards changed ones. Prepares the folder for writing.
    Status replay();
    [[nodiscard]] uint64_t bytesMissing() const;
    /// Of these, the bytes that take space.
    [[nodiscard]] uint64_t spaceMissing() const;
    [[nodiscard]] uint64_t filesMissing() const;
    /// Writes missing files, and those next to the target; what is written is read back meanwhile.
    Status write();
    /// Reads the rest of used records, so that their CRCs can be compared; then checks that no source changed
    /// meanwhile.
    Status checkSources();
    /// Reads back what replay() found, and compares the structure of all files with the plan and the model.
    Status verify(const OutputModel* model);

    /// Whether everything that was read back came by direct I/O.
    [[nodiscard]] bool readDirectly() const { return m_readDirectly; }
    /// All files in the plan's order. Call after write().
    [[nodiscard]] std::vector<WrittenFile> takeFiles();
    [[nodiscard]] const std::vector<Digest>& digests() const { return m_digests->sums(); }

private:
    Status replayAll(std::vector<size_t>& lost);
    Status findLost(std::vector<size_t>& lost);
    [[nodiscard]] std::unique_ptr<ReadBack> newReadBack(Halt& halt) const;
    Status endOf(ReadBack* readBack, Status written);
    Status writeRunFolderFiles(ReadBack* readBack);
    Status readGap(const SourceCrcs::Gap& gap, ChunkBuffers& buffers);
    void resetSums();
    [[nodiscard]] OutputFileSettings settings(ReadBack* readBack = nullptr) const;
    Error withMissingBytes(Error error);

    io::FileSystem& m_files;
    const WritePlan& m_plan;
    WorkFolder& m_work;
    MemoryPlan m_memory;
    const ComputeBackend& m_backend;
    StageTimes& m_times;
    bool m_sha256;
    bool m_readsBack;
    JobContext& m_job;
    SourcePool m_sources;
    std::unique_ptr<SourceCrcs> m_crcs;
    std::unique_ptr<ElementDigests> m_digests;
    std::vector<ChunkBuffers> m_buffers; ///< one per worker
    std::vector<std::optional<JournalFile>> m_finished; ///< by an earlier run
    std::vector<std::optional<WrittenFile>> m_written;
    bool m_readDirectly = true;
    std::vector<bool> m_isReadBack; ///< by write()
};

} // namespace shardscope
