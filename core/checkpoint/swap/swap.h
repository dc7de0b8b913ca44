// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/folder/reading_state.h"
#include "core/checkpoint/folder/swap_names.h"
#include "core/checkpoint/units/unit_states.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace shardscope {

/// NVMe offload keeps the optimizer's flat tensors of large ZeRO-3 sub-groups in swap files: raw
/// little-endian elements, no header, one file per sub-group, state and rank
/// (runtime/swap_tensor/partitioned_optimizer_swapper.py). engine.py's save_checkpoint copies a rank's files
/// into TAG/offloaded_tensors/rankNN (0.18.0 on) or TAG/offloaded_tensors (0.13.0 to 0.17.6).

/// What ds_config says that decides where state lies; nothing where it is a path or says nothing.
struct SwapConfig {
    bool known = false;
    bool nvme = false; ///< offload_optimizer.device
    bool pipelined = false;
    uint64_t leastBytes = uint64_t{1}
        << 20; ///< of a sub-group's partition that is swapped (MIN_AIO_BYTES, aio.block_size)
    DType masterType = DType::Float32;
};
SwapConfig readSwapConfig(const Reading& reading);

/// Which sub-groups' states lie in swap files, and where. Filled once before the states are read.
class SwapMap
{
public:
    /// States that lie in swap files, of one rank's part of a sub-group; absent runs where the file is.
    /// Null where nothing of it is swapped.
    using States = std::vector<SwappedState>;
    [[nodiscard]] const States* find(uint32_t subgroup, uint32_t rank) const;
    void put(uint32_t subgroup, uint32_t rank, States states);
    [[nodiscard]] bool isEmpty() const { return m_states.empty(); }
    [[nodiscard]] const std::map<std::pair<uint32_t, uint32_t>, States>& all() const { return m_states; }

private:
    std::map<std::pair<uint32_t, uint32_t>, States> m_states; ///< by sub-group and rank
};

/// What one rank's optimizer file says of one sub-group.
struct SwapSubject {
    uint32_t subgroup = 0;
    uint32_t rank = 0;
    const FlatUnit* unit = nullptr;
    FileId file = kNoFile;
    NodeId master = kNoNode;
    NodeId state = kNoNode;
    bool empty = false; ///< its masters have no elements: they are elsewhere
    std::string id; ///< `ds_id` of its masters, where torch kept it (2.0 on)
    /// Whether the states carry one, which only swapped ones get; unset without states or ids.
    std::optional<bool> marked;
};

/// A folder's files by state and id.
using SwapIndex = std::map<std::pair<std::string, std::string>, FileId>;
SwapIndex indexSwapFolder(const Reading& reading, const SwapFolder& folder);

/// Gives every subject without an id the one that sizes, counts and order speak for; a finding where they do
/// not decide. `index`: of the subjects' rank. Subjects are one rank's, in order.
void matchSwapIds(
    const Reading& reading, std::vector<SwapSubject*>& subjects, const SwapIndex& index, DType dtype);

/// Maps swap files to the checkpoint's sub-groups. Findings: files missing, too short, of no sub-group,
/// tensors in optimizer files that are not used.
SwapMap mapSwapFiles(Reading& reading);

/// Sizes of the folders' files of masters, by rank, ascending.
using MasterBytes = std::map<uint32_t, std::vector<uint64_t>>;
MasterBytes masterBytesOf(const Reading& reading, const std::vector<const SwapFolder*>& folders);
/// Whether a sub-group of a checkpoint whose run did not swap can be what one of its rank's files holds, by
/// its size.
bool isSalvageable(const MasterBytes& files, const SwapSubject& subject, DType masterType);
/// Whether the checkpoint has all ranks that swapped into the folders; an error where not.
bool hasRanksOf(const Reading& reading, const std::vector<const SwapFolder*>& folders);
/// Gives each of a rank's subjects whose id no file has the id of the only file whose masters are like the
/// checkpoint's: weights change little from one save to the next, and those of other sub-groups are
/// unrelated. Others are left without one.
void matchByValues(
    const Reading& reading, const std::vector<SwapSubject*>& subjects, const SwapIndex& index, DType dtype);
/// A finding `marked` that tells what is the swap folder's and what the checkpoint's; an error where nothing
/// fits.
void tellSalvaged(const Reading& reading, const SwapMap& map);

/// Looks into the files at some places, where opening is to be complete: what contradicts the mapping, and
/// what the optimizer files hold in its place.
void checkSwapContents(const Reading& reading, const SwapMap& map, const std::vector<SwapSubject>& subjects);
/// A live swap folder against the checkpoint that it is used with.
void checkLiveSwap(const Reading& reading, const SwapMap& map, const std::vector<SwapSubject>& subjects);
/// Masters of a live swap folder against the model's weights beside them, where the run swapped those as
/// well.
void checkSwappedWeights(
    const Reading& reading, const SwapMap& map, const std::vector<SwapSubject>& subjects);

} // namespace shardscope
