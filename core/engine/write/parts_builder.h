// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/parts/part_combiner.h"
#include "core/engine/write/execute.h"
#include "core/engine/write/folder_entries.h"
#include "core/engine/write/output_build.h"

#include <memory>
#include <vector>

namespace shardscope {

/// Completes a job that processes have begun in parts: writes the pieces that are missing, and combines all.
///
/// Pieces may have been lost or changed since they were written. The existence, type, size and identity of
/// every file are checked (isAsLeft()). Pieces of a file that others may have changed, and with verification
/// those that nobody has read back, are read and compared with their records. What is lost is written again.
class PartsBuilder final : public OutputBuild
{
public:
    /// Of `options`: finish, pieces and peers.
    PartsBuilder(io::FileSystem& files, const WritePlan& plan, WorkFolder& work,
        const BuildResources& resources, const ExecuteOptions& options, JobContext& job);

    /// Determines what is missing or lost.
    Status replay() override;
    [[nodiscard]] uint64_t bytesMissing() const override { return bytesOf(m_missing); }
    [[nodiscard]] uint64_t spaceMissing() const override;
    [[nodiscard]] uint64_t filesMissing() const override { return 0; }
    /// Refused, with the parts that are missing.
    Status write() override;
    Status checkSources() override;
    Status verify(const OutputModel* model) override;
    Status readChanged() override;

    [[nodiscard]] bool readDirectly() const override { return m_readDirectly; }
    [[nodiscard]] std::vector<WrittenFile> takeFiles() override { return std::move(m_combiner->files()); }
    [[nodiscard]] const std::vector<Digest>& digests() const override { return m_combiner->digests().sums(); }

private:
    /// How a file of recorded pieces was found.
    enum class Found { Gone, Changed, AsLeft };
    Status dropLost();
    Result<std::vector<Found>> lookAtFiles();
    Result<Found> lookAtFile(uint32_t file, FolderEntries& entries);
    Status readBack(const std::vector<PieceRecord>& pieces);
    Status writeMissing();
    Status writeTogether();
    [[nodiscard]] bool isShared() const;
    [[nodiscard]] std::vector<PieceRecord> unchecked();
    Status writeBeside();
    Result<std::string> missingParts() const;

    io::FileSystem& m_files;
    const WritePlan& m_plan;
    WorkFolder& m_work;
    BuildResources m_resources;
    const ExecuteOptions& m_options;
    JobContext& m_job;
    PartResources m_partResources;
    PieceJournal m_journal;
    std::vector<FilePiece> m_unwritten; ///< by no process
    std::vector<FilePiece> m_lost; ///< written, but missing or changed since
    std::vector<FilePiece> m_missing; ///< both
    std::unique_ptr<PartCombiner> m_combiner;
    bool m_readDirectly = true;
};

/// Bytes of the files of `pieces` that have no space yet: the first process that writes a part of a file
/// reserves all of it.
uint64_t unreservedBytes(
    io::FileSystem& files, const WritePlan& plan, const WorkFolder& work, std::span<const FilePiece> pieces);

/// Adds what is written and checked to the journal of the part `name`.
PartEvents journalEvents(io::FileSystem& files, const WorkFolder& work, const std::string& name);

} // namespace shardscope
