// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/folder/reading_state.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shardscope {

/// A 1-D contiguous tensor of a state list as a stored run; nothing when it is not one, with a finding.
std::optional<StoredRun> flatRun(const Reading& reading, FileId file, NodeId tensor, DType& dtype);

/// `bytes` bytes of a payload, for single scalars kept as tensors; empty on failure, with a finding.
std::vector<uint8_t> readScalar(
    const Reading& reading, const io::Path& path, uint64_t offset, uint32_t bytes);

/// Whether a step is kept as an int, a number or a tensor.
void setStepForm(const PickleGraph& graph, NodeId value, FlatUnit& unit);
/// The number that a value is, or that a tensor of one element in `file` holds.
std::optional<double> scalarOf(const Reading& reading, FileId file, NodeId value);

/// Per param group of the torch optimizer state: options and the state keys ("params") it lists.
struct GroupEntry {
    NodeId options = kNoNode;
    std::vector<int64_t> stateKeys;
};
std::vector<GroupEntry> readParamGroups(const PickleGraph& graph, NodeId torchState);

/// A state that lies in a swap file in place of the optimizer file.
struct SwappedState {
    std::string name;
    DType dtype = DType::Float32;
    StoredRun run; ///< absent where the file is missing or too short, which a finding tells
};

/// One rank's part of a unit, where its file keeps it.
struct RankStates {
    FileId file = kNoFile;
    NodeId master = kNoNode; ///< tensor node
    NodeId state = kNoNode; ///< mapping node, kNoNode when there is none
    const std::vector<SwappedState>* swapped = nullptr; ///< what lies in swap files, null for nothing
    bool lean = false; ///< its tensors are cut as the masters are (elastic_checkpoint)
    /// Elastic ZeRO-3: states may be lists of tensors; those of the unit's parameters begin with this one.
    std::optional<uint32_t> firstSlice{};

    [[nodiscard]] const SwappedState* findSwapped(std::string_view name) const
    {
        for (size_t i = 0; swapped != nullptr && i < swapped->size(); ++i) {
            if ((*swapped)[i].name == name)
                return &(*swapped)[i];
        }
        return nullptr;
    }
};
/// The optimizer file that tells what all ranks' files have alike: templateOptim, else the first that can be
/// read and belongs here; kNoFile where none does.
FileId guideOf(const Reading& reading);
/// Whether the masters of at least one rank have the length that the shapes give. Else the shapes are not
/// those of these files: noModel() says so. True when no rank's masters can be looked at.
bool requireShapesFit(const Reading& reading, const FlatUnit& unit, const std::vector<RankStates>& perRank,
    const std::string& unitText);
/// Whether one rank's masters are there and have such a length.
bool masterFits(const Reading& reading, const FlatUnit& unit, uint32_t rank, const RankStates& source);
/// Fills unit.states from the fp32 list entry and the optimizer's state mapping of every rank's file.
void fillUnitStates(const Reading& reading, FlatUnit& unit, const std::vector<RankStates>& perRank,
    const std::string& unitText);

} // namespace shardscope
