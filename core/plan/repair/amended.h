// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/open/open.h"
#include "core/plan/compose/pickle_edit.h"
#include "core/plan/compose/refills.h"
#include "core/plan/repair/repair.h"

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace shardscope {

struct WeightTally;

/// A part of a state that cannot be read from its own place.
struct LostPart {
    std::string_view code; ///< of the finding that caused the loss
    std::string state;
    std::vector<ParamId> params; ///< parameters that lose some of it
    /// Elements [begin, end) of params.front() that count as lost but have bytes. Empty: no file has the
    /// elements.
    std::vector<std::pair<uint64_t, uint64_t>> runs;
    Place where; ///< for the mark
    std::string of; ///< the owner, in words: "rank 3"
};

/// A checkpoint in memory with fixes applied one after the other, and a record of the changes. Files on disk
/// are never changed. Tensor slices and pipeline stages are repaired separately, as parts of a whole
/// (core/plan/repair/amended_parts.h). Used by one thread.
struct Amended {
    io::FileSystem& files;
    JobContext& job;
    const RepairOptions& options;
    const OpenOptions& open; ///< how the source was opened
    CheckpointPtr source; ///< as it was read
    std::shared_ptr<Checkpoint> checkpoint; ///< as it will be written
    std::vector<RepairChange> changes = {};
    std::set<uint32_t> lostRanks = {}; ///< ranks with lost optimizer files
    std::set<std::string> remadeModels = {}; ///< model files of single ranks that come from other ranks'
    /// The values that must come from another source. They are refilled last.
    std::vector<LostPart> lost = {};
    ModelFiles model = {}; ///< how they differ from the source's
    bool rewriteAll = false; ///< no file is copied unchanged
    /// States at other places than the source records. All of a state's elements are read from the same files
    /// in another order. Values are only moved.
    struct Moved {
        CheckpointPtr from;
        std::vector<ParamId> params;
    };
    std::map<std::string, Moved, std::less<>> moved = {};
    std::shared_ptr<Refills> refills = {}; ///< null: nothing is refilled
    std::optional<CheckpointPtr> donor = {}; ///< result of donorOf(); unset: not searched yet
    std::map<FileId, PickleEdit> edits = {}; ///< of rank 0's files, finished last
    Amended* whole = nullptr; ///< for a part: the owner of findings, changes and donor of all parts
    uint32_t firstParam = 0; ///< for a part: the number of its first parameter in the whole
    std::vector<const Amended*> parts = {}; ///< for a whole

    PickleEdit& edit(FileId file) { return edits.try_emplace(file, *source, file).first->second; }
    /// The findings that block the copy, for all parts.
    std::vector<Finding>& findings() { return (whole ? *whole : *this).checkpoint->findings; }
    void recordChange(RepairChange change) { (whole ? *whole : *this).changes.push_back(std::move(change)); }
    /// Whether the source is split into tensor slices or pipeline stages, or is one of them.
    [[nodiscard]] bool isSplit() const { return whole != nullptr || !source->parts.empty(); }
    /// The parameter's name in the whole.
    [[nodiscard]] const std::string& nameOf(ParamId param) const;
    struct NamedState {
        ParamId param = kNoParam;
        std::string state;
    };
    /// The parameter of this source that an address refers to. Nothing if it refers to none, or to another
    /// part's.
    [[nodiscard]] std::optional<NamedState> stateAt(const Place& where) const;
    /// A data-parallel rank as text, with the slice and stage if there are any.
    [[nodiscard]] std::string rankName(uint32_t dpRank) const;
    /// Removes a finding from those that block the copy.
    void settle(const Finding& finding);
    /// Removes the finding, and records the change.
    void repair(const Finding& finding, std::string what, std::string before = {}, std::string after = {});
    /// Marks a value as not saved by any run.
    void mark(std::string_view code, Place where, std::string what, std::vector<Place> exactly = {});
};

/// One fix: the findings that it repairs, and how. It is called with at least one finding of `code`.
struct RepairFix {
    /// The slices and stages that a fix is applied to: those named in its findings, the whole, or each of
    /// them.
    enum class Reach { Parts, Whole, Each };
    std::string_view code;
    Status (*apply)(Amended& amended, const std::vector<const Finding*>& findings) = nullptr;
    bool readsAll = false; ///< only a full read finds what it repairs
    Reach reach = Reach::Parts;
};
/// All fixes, in the order in which they are applied. Their codes are those of the diagnoses with `repairs`.
std::span<const RepairFix> repairFixes();

/// Merges files of several folders into one. The source was then read from these folders.
Status mergeFolders(Amended& amended, const std::vector<const Finding*>& findings);
/// Omits files from the copy that do not belong to the checkpoint.
Status leaveOut(Amended& amended, const std::vector<const Finding*>& findings);
/// Writes files under the names of one model slice. The planner chooses names for every copy.
Status takeStockNames(Amended& amended, const std::vector<const Finding*>& findings);
/// For content that is removed by rewriting every file.
Status rewriteFiles(Amended& amended, const std::vector<const Finding*>& findings);
/// If one rank's steps, options or scaler differ, uses the values of most ranks. A rank with masters of
/// another step counts as lost.
Status takeMajority(Amended& amended, const std::vector<const Finding*>& findings);
/// Counts the optimizer state in the named files as lost. Exception: files with exchanged names, which were
/// read under their right names.
Status giveUpShards(Amended& amended, const std::vector<const Finding*>& findings);
/// For a file with a directory that was rebuilt from its records: it is complete, or its shard counts as
/// lost.
Status takeRecovered(Amended& amended, const std::vector<const Finding*>& findings);

/// For missing model files: builds them from another tag's. The source was then read with these.
Status takeOtherModel(Amended& amended, const std::vector<const Finding*>& findings);
/// Whether the parameter, or the one that it is tied to, is trained. ZeRO's shards then hold its master.
bool hasMaster(const Checkpoint& checkpoint, ParamId param);
/// Counts a trained parameter's 16-bit copy as lost, and removes its place. Unsupported if it cannot be built
/// from a master.
Status loseWeightOf(Amended& amended, const Finding& finding, ParamId param);
/// The same for all parameters in records of a model file.
Status loseWeightsIn(
    Amended& amended, const Finding& finding, FileId file, const std::set<uint32_t>& records);

/// For lost files of experts: builds them from the masters.
Status makeExpertFiles(Amended& amended, const std::vector<const Finding*>& findings);
/// For frozen parameters that no file holds: takes them from another checkpoint or from weights.
Status graftFrozen(Amended& amended, const std::vector<const Finding*>& findings);
/// The same for buffers that the model file names but does not hold.
Status graftBuffers(Amended& amended, const std::vector<const Finding*>& findings);

/// Leaves the frozen part of the model out of the copy, as exclude_frozen_parameters does.
Status stripFrozen(Amended& amended, const std::vector<const Finding*>& findings);

/// Puts parameters in the recorded order, if their copies prove their current order.
Status putInOrder(Amended& amended, const std::vector<const Finding*>& findings);
/// The same for a universal folder, if its converter split a run with round_robin_gradients in the wrong
/// order.
Status putInOwnFiles(Amended& amended, const std::vector<const Finding*>& findings);

/// Counts the content of damaged records as lost, and keeps the rest of their files.
Status takeOtherRecords(Amended& amended, const std::vector<const Finding*>& findings);
/// Counts the states that one rank does not have as lost.
Status takeOtherStates(Amended& amended, const std::vector<const Finding*>& findings);
/// The same for states in missing swap files.
Status takeOtherSwapped(Amended& amended, const std::vector<const Finding*>& findings);
/// The same for moments in swap files that cannot belong to the checkpoint.
Status takeOtherThanSwapped(Amended& amended, const std::vector<const Finding*>& findings);
/// Counts the states that some parameters of a universal folder do not have as lost.
Status takeOtherStatesOfParams(Amended& amended, const std::vector<const Finding*>& findings);
/// Counts values as lost if no training can continue from them.
Status takeSoundValues(Amended& amended, const std::vector<const Finding*>& findings);
/// Counts masters as lost if the 16-bit copies were not rounded from them. Their other states are lost, too.
Status takeFittingMasters(Amended& amended, const std::vector<const Finding*>& findings);

/// Adds the key that the stock converter requires, if it only needs to record its version.
Status addUniversalInfo(Amended& amended, const std::vector<const Finding*>& findings);
/// Sets the optimizer's step to the one that follows from the engine's counters.
Status takeCounters(Amended& amended, const std::vector<const Finding*>& findings);
/// Sets learning rates to those that the scheduler set last, and its count to the engine's.
Status takeSchedule(Amended& amended, const std::vector<const Finding*>& findings);
/// Gives both names of a tied parameter the owner's values.
Status takeOwners(Amended& amended, const std::vector<const Finding*>& findings);
/// Sets reviewed values, spelled as in RepairOptions::values.
Status setValues(Amended& amended, const std::vector<std::string>& values);
/// Sets the optimizer's step wherever it is stored.
Status setStep(Amended& amended, double step, std::string_view code);

/// The data-parallel rank in a flat address or in "dp1.tp0.pp0". Nothing if it belongs to another part.
std::optional<uint32_t> rankOfAddress(const Checkpoint& source, const Place& where);
/// The data-parallel rank of the optimizer file, or share, that a finding names. Unsupported if it is not an
/// optimizer file.
Result<uint32_t> lostRankOf(const Amended& amended, const Finding& finding);
/// The error that a finding is not repaired, with the reason.
tl::unexpected<Error> cannotRepair(const Amended& amended, const Finding& finding, const std::string& why);
std::optional<FileId> fileNamed(const Checkpoint& checkpoint, const Place& where);
/// Counts a rank's share of a unit's state as lost, once, and removes its place.
void loseShare(Amended& amended, UnitId unit, uint32_t state, uint32_t share, std::string_view code);
/// Counts everything in a rank's optimizer file as lost, as the fix of a finding.
Status giveUpShard(Amended& amended, const Finding& finding);

/// The checkpoint that lost parts may come from: RepairOptions::donor, else the neighbouring tag. Null if
/// there is neither. For a tensor slice or pipeline stage, the same one of that checkpoint. Unsupported if it
/// is split in another way. Opened on first use.
Result<CheckpointPtr> donorOf(Amended& amended);
/// After all fixes: decides where lost parts are refilled from, and marks them.
Status refillLost(Amended& amended);
/// Finds the masters [begin, end) of a parameter in `of` that do not round to the source's copies. NaN values
/// and values without a copy are not counted.
Status compareWithCopy(const Amended& amended, const Checkpoint& of, ParamId param, uint64_t begin,
    uint64_t end, WeightTally& tally);
/// Whether one rank's masters round to their 16-bit copies. Nothing if there are none to compare.
std::optional<bool> mastersFitCopies(const Amended& amended, uint32_t dpRank);

} // namespace shardscope
