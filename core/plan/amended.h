// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/open.h"
#include "core/plan/refills.h"
#include "core/plan/repair.h"

#include <memory>
#include <string>
#include <vector>

namespace shardscope {

/// A checkpoint in memory that fixes are applied to, one after the other, and what they changed. What stands
/// on disk is never touched. Used by one thread.
struct Amended {
    io::FileSystem& files;
    JobContext& job;
    const RepairOptions& options;
    const OpenOptions& open; ///< how the source was opened
    CheckpointPtr source; ///< as it was read
    std::shared_ptr<Checkpoint> checkpoint; ///< as it will be written
    std::vector<RepairChange> changes;
    /// The ranks whose shares of the optimizer files are lost, ascending; the refill takes them last.
    std::vector<uint32_t> lostRanks;
    std::string_view lostCode; ///< of the first finding for which one was given up
    std::shared_ptr<Refills> refills; ///< null: nothing is refilled

    /// Takes a finding from what stands in the way.
    void settle(const Finding& finding);
    /// Settles it, and tells what is done about it.
    void mend(const Finding& finding, std::string what, std::string before = {}, std::string after = {});
    /// Says of something that no run saved it.
    void mark(std::string_view code, std::string where, std::string what);
};

/// One fix: which findings it mends, and how. Findings are those of `code` that were found, at least one.
struct RepairFix {
    std::string_view code;
    Status (*apply)(Amended& amended, const std::vector<const Finding*>& findings) = nullptr;
};
/// All of them, in the order in which they are applied; their codes are those of the diagnoses that say
/// `repairs`.
std::span<const RepairFix> repairFixes();

/// Leaves out of the copy what does not belong to the checkpoint.
Status leaveOut(Amended& amended, const std::vector<const Finding*>& findings);
/// What every file is written anew without.
Status writeAnew(Amended& amended, const std::vector<const Finding*>& findings);
/// Takes the values that most ranks have where one rank's steps, options or scaler differ; a rank whose
/// masters are of another step counts as lost.
Status takeMajority(Amended& amended, const std::vector<const Finding*>& findings);
/// Counts what the named files held of the optimizer's state as lost.
Status giveUpShards(Amended& amended, const std::vector<const Finding*>& findings);
/// A file whose directory was built again from its records: whole, or its shard counts as lost.
Status takeRecovered(Amended& amended, const std::vector<const Finding*>& findings);

/// After all fixes: decides where lost shards are refilled from, and marks them.
Status refillLost(Amended& amended);
/// Whether the masters that one rank holds are, rounded, the 16-bit copies beside them; nothing where there
/// are none to compare.
std::optional<bool> mastersFitCopies(const Amended& amended, uint32_t dpRank);

} // namespace shardscope
