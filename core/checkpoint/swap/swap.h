// SPDX-License-Identifier: Apache-2.0
#pragma once

// Folder core/checkpoint/swap: for states that NVMe offload keeps in swap files, which file belongs to which
// sub-group, state and rank. Start with SwapMap.

#include "core/checkpoint/folder/reading_state.h"
#include "core/checkpoint/folder/swap_table.h"
#include "core/checkpoint/units/unit_states.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace shardscope {

/// NVMe offload keeps the optimizer's flat tensors of large ZeRO-3 sub-groups in swap files: raw
/// little-endian elements without a header, one file per sub-group, state and rank
/// (runtime/swap_tensor/partitioned_optimizer_swapper.py). engine.py's save_checkpoint copies a rank's files
/// into TAG/offloaded_tensors/rankNN (since 0.18.0) or TAG/offloaded_tensors (0.13.0 to 0.17.6).

/// Settings of ds_config that decide where state is stored. Nothing if ds_config is a path or does not record
/// them.
struct SwapConfig {
    bool known = false;
    bool nvme = false; ///< offload_optimizer.device
    bool pipelined = false;
    uint64_t minBytes = uint64_t{1}
        << 20; ///< min size of a sub-group's partition to be swapped (MIN_AIO_BYTES, aio.block_size)
    DType masterType = DType::Float32;
};
SwapConfig readSwapConfig(const Reading& reading);

/// Which sub-groups have states in swap files, and where. Filled once, before the states are read.
class SwapMap
{
public:
    /// The states in swap files for one rank's part of a sub-group. A run is absent if its file is missing.
    /// Null if none is swapped.
    using States = std::vector<SwappedState>;
    [[nodiscard]] const States* find(uint32_t subgroup, uint32_t rank) const;
    void put(uint32_t subgroup, uint32_t rank, States states);
    [[nodiscard]] bool isEmpty() const { return m_states.empty(); }
    [[nodiscard]] const std::map<std::pair<uint32_t, uint32_t>, States>& all() const { return m_states; }

private:
    std::map<std::pair<uint32_t, uint32_t>, States> m_states; ///< by sub-group and rank
};

/// What one rank's optimizer file records about one sub-group.
struct SwapSubject {
    uint32_t subgroup = 0;
    uint32_t rank = 0;
    const FlatUnit* unit = nullptr;
    FileId file = kNoFile;
    NodeId master = kNoNode;
    NodeId state = kNoNode;
    bool empty = false; ///< its masters have no elements: they are stored elsewhere
    std::string id; ///< `ds_id` of its masters, if torch kept it (since 2.0)
    /// Whether the states have an id, which only swapped states get. Unset without states or ids.
    std::optional<bool> marked;
};

/// The elements of a state on the subject's rank; of all states if it is empty.
FlatAddress placeOf(const SwapSubject& subject, std::string state);

/// The files of a folder by state and id.
using SwapIndex = std::map<std::pair<std::string, std::string>, FileId>;
SwapIndex indexSwapFolder(const Reading& reading, const SwapFolder& folder);

/// Gives every subject without an id the one that matches in sizes, counts and order. Adds a finding if these
/// do not decide. `index`: files of the subjects' rank. `subjects`: of one rank, in order.
void matchSwapIds(
    const Reading& reading, std::vector<SwapSubject*>& subjects, const SwapIndex& index, DType dtype);

/// Maps swap files to the checkpoint's sub-groups. Findings: missing files, files that are too short or
/// belong to no sub-group, tensors in optimizer files that are not used.
SwapMap mapSwapFiles(Reading& reading);

/// Sizes of the folders' master files, by rank, ascending.
using MasterBytes = std::map<uint32_t, std::vector<uint64_t>>;
MasterBytes masterBytesOf(const Reading& reading, const std::vector<const SwapFolder*>& folders);
/// For a checkpoint of a run that did not swap: whether a file of the rank has the right size for a
/// sub-group.
bool isSalvageable(const MasterBytes& files, const SwapSubject& subject, DType masterType);
/// Whether the checkpoint has all ranks that swapped into the folders. Adds an error if not.
bool hasRanksOf(const Reading& reading, const std::vector<const SwapFolder*>& folders);
/// For a rank's subjects with an id that no file has: assigns the only file with similar masters. Weights
/// change little from one save to the next, and weights of other sub-groups are unrelated. The remaining
/// subjects get no id.
void matchByValues(
    const Reading& reading, const std::vector<SwapSubject*>& subjects, const SwapIndex& index, DType dtype);
/// Adds a finding `marked` that lists what comes from the swap folder and what from the checkpoint. Adds an
/// error if nothing fits.
void reportSalvaged(const Reading& reading, const SwapMap& map);

/// For a full open: samples the files. Reports contradictions to the mapping, and what the optimizer files
/// hold instead.
void checkSwapContents(const Reading& reading, const SwapMap& map, const std::vector<SwapSubject>& subjects);
/// Compares a live swap folder with the checkpoint that it is used with.
void checkLiveSwap(const Reading& reading, const SwapMap& map, const std::vector<SwapSubject>& subjects);
/// Compares masters of a live swap folder with the model's weights next to them, if the run swapped those as
/// well.
void checkSwappedWeights(
    const Reading& reading, const SwapMap& map, const std::vector<SwapSubject>& subjects);

} // namespace shardscope
