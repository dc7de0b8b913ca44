// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/peers.h"
#include "core/base/shared_work.h"
#include "core/compute/compute_choice.h"
#include "core/engine/parts/part_writer.h"
#include "core/engine/parts/piece_journal.h"
#include "core/engine/write/execute.h"
#include "core/engine/write/work_folder.h"

#include <functional>
#include <span>
#include <vector>

namespace shardscope {

/// Refused if a process has planned another job than the first one. All call it before they work together.
Status checkSamePlan(io::FileSystem& files, const WritePlan& plan, SharedWork& shared);

/// Chooses the device for so many bytes.
using ChooseCompute = std::function<Result<ComputeChoice>(uint64_t bytes)>;
/// Works for process 0 of `options.peers` until that ends, with a plan of its own, for which checkSamePlan()
/// succeeded. Errors are passed to process 0; the result is that of the connection, or Cancelled after a
/// stop.
Status serveLeader(io::FileSystem& files, const WritePlan& plan, const ExecuteOptions& options,
    const ChooseCompute& chooseCompute, JobContext& job);
/// Process 0: lets the others end.
Status dismissPeers(Peers& peers);

/// The processes of a job as process 0 leads them: they write and read back pieces of a plan.
class PeerWriters
{
public:
    PeerWriters(io::FileSystem& files, const WritePlan& plan, const WorkFolder& work,
        const PartResources& resources, Peers& peers, JobContext& job);

    /// Writes `ranges`, divided by bytes, by all processes at the same time. Each records its pieces in a
    /// journal of its own, and `journal` gets all of them. With `readsBack`, each process meanwhile reads
    /// back what the one before it has recorded.
    Status write(
        std::span<const FilePiece> ranges, const PieceSizes& sizes, bool readsBack, PieceJournal& journal);
    /// Reads pieces back, each by another process than the one that wrote it in write(). Those that are as
    /// recorded are added to PieceJournal::checked.
    Status check(std::span<const PieceRecord> pieces, PieceJournal& journal);

    [[nodiscard]] bool readDirectly() const { return m_readDirectly; }

private:
    Result<std::string> writeTask(uint32_t rank, std::span<const PieceRecord> known, bool readsBack);
    [[nodiscard]] Result<uint64_t> journalBytes(uint32_t rank) const;
    [[nodiscard]] uint32_t before(uint32_t rank) const;
    [[nodiscard]] io::Path workFolder() const;
    [[nodiscard]] std::string journalOf(uint32_t rank) const;
    Status run(std::vector<std::string> tasks,
        const std::function<Status(PartWriter&, const PartEvents&)>& own, PieceJournal& journal);

    io::FileSystem& m_files;
    const WritePlan& m_plan;
    const WorkFolder& m_work;
    const PartResources& m_resources;
    Peers& m_peers;
    JobContext& m_job;
    std::vector<std::vector<FilePiece>> m_written; ///< by each process
    bool m_readDirectly = true;
};

} // namespace shardscope
