// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/parts/part_combiner.h"
#include "core/engine/verify/verify_output.h"
#include "core/engine/write/execute.h"
#include "core/engine/write/folder_entries.h"
#include "core/engine/write/work_folder.h"

#include <memory>
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

/// Creates all files of a plan in the work folder, piece by piece, and goes on where interrupted runs, or
/// processes that wrote parts, stopped. Steps in this order: replay, write, checkSources, verify,
/// readChanged. Not thread-safe; the steps use many threads.
///
/// Pieces may have been lost or changed since they were written. The existence, type, size and identity of
/// every file are checked (isAsLeft()). Pieces of a file that others may have changed, and with verification
/// those that nobody has read back, are read and compared with their records. What is lost is written again.
class OutputBuilder
{
public:
    /// Of `options`: finish, pieces and peers.
    OutputBuilder(io::FileSystem& files, const WritePlan& plan, WorkFolder& work,
        const BuildResources& resources, const ExecuteOptions& options, JobContext& job);

    /// Determines what is missing or lost.
    Status replay();
    [[nodiscard]] uint64_t bytesMissing() const { return bytesOf(m_missing); }
    /// Of these, the bytes that take space.
    [[nodiscard]] uint64_t spaceMissing() const;
    [[nodiscard]] uint64_t filesMissing() const;
    /// Writes what is missing, completes all files, and writes those next to the target; what is written is
    /// read back, too. With `finish`, nothing may be missing: Refused, with the parts.
    Status write();
    /// Reads the rest of used records, so that their CRCs can be compared; then checks that no source changed
    /// meanwhile.
    Status checkSources() { return m_combiner->checkSources(); }
    /// Compares the structure of all files with the plan and the model, which may be null.
    Status verify(const OutputModel* model);
    /// PartCombiner::readChanged().
    Status readChanged() { return m_combiner->readChanged(); }

    /// Whether everything that was read back came by direct I/O.
    [[nodiscard]] bool readDirectly() const { return m_readDirectly; }
    /// All files in the plan's order. Call last.
    [[nodiscard]] std::vector<WrittenFile> takeFiles() { return std::move(m_combiner->files()); }
    /// One per tensor of the plan.
    [[nodiscard]] const std::vector<Digest>& digests() const { return m_combiner->digests().sums(); }

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
    std::map<uint32_t, WrittenFile> m_completed; ///< by this process
    std::unique_ptr<PartCombiner> m_combiner;
    bool m_readDirectly = true;
};

/// Bytes of the files of `pieces` that have no space yet: the first process that writes a part of a file
/// reserves all of it. A file that one process writes as a whole may share the bytes of its source.
uint64_t unreservedBytes(io::FileSystem& files, const WritePlan& plan, const WorkFolder& work,
    std::span<const FilePiece> pieces, bool byOneProcess);

/// NoSpace of a job that needs `needed` more bytes in `folder`.
Error withMissingBytes(io::FileSystem& files, const io::Path& folder, uint64_t needed, Error error);

/// Writes a small file, syncs it, and reads it from the device. VerifyFailed.
Status writeAndReadBack(
    io::FileSystem& files, const io::Path& path, std::string_view text, uint32_t mode = 0644);
/// Whether the file has these bytes on the device.
Result<bool> holdsBytes(io::FileSystem& files, const io::Path& path, std::string_view text);

/// Adds what is written and checked to the journal of a part, and to `lines` if it is not null; not after an
/// error of `mayWrite`.
PartEvents journalEvents(io::FileSystem& files, io::Path journal, std::function<Status()> mayWrite = {},
    std::string* lines = nullptr);

} // namespace shardscope
