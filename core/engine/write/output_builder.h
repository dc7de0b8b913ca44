// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/stream/read_back.h"
#include "core/engine/write/output_build.h"

#include <memory>
#include <optional>
#include <vector>

namespace shardscope {

/// Writes every file whole, several at a time. Reuses files of an interrupted run.
class OutputBuilder final : public OutputBuild
{
public:
    OutputBuilder(io::FileSystem& files, const WritePlan& plan, WorkFolder& work,
        const BuildResources& resources, JobContext& job);

    /// Reads the files of the journal and discards changed ones.
    Status replay() override;
    [[nodiscard]] uint64_t bytesMissing() const override;
    [[nodiscard]] uint64_t spaceMissing() const override;
    [[nodiscard]] uint64_t filesMissing() const override;
    Status write() override;
    Status checkSources() override;
    Status verify(const OutputModel* model) override;
    Status readChanged() override;

    [[nodiscard]] bool readDirectly() const override { return m_readDirectly; }
    [[nodiscard]] std::vector<WrittenFile> takeFiles() override;
    [[nodiscard]] const std::vector<Digest>& digests() const override { return m_digests->sums(); }

private:
    Status replayAll(std::vector<size_t>& lost);
    Status findLost(std::vector<size_t>& lost);
    [[nodiscard]] std::unique_ptr<ReadBack> newReadBack(Halt& halt) const;
    Status endOf(ReadBack* readBack, Status written);
    void resetSums();
    [[nodiscard]] OutputFileSettings settings(ReadBack* readBack = nullptr) const;

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
