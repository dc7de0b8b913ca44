// SPDX-License-Identifier: Apache-2.0
#pragma once

// Folder core/checkpoint/units: code that several readers need: parameters of a model file, states of a flat
// unit, comparison of masters with weights. Start with RankStates, then readModule().

#include "core/checkpoint/folder/reading_state.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shardscope {

/// A 1-D contiguous tensor of a state list as a stored run. Nothing, with a finding, if it is not one.
std::optional<StoredRun> flatRun(const Reading& reading, FileId file, NodeId tensor, DType& dtype);

/// The element of a scalar stored as a tensor. Empty on failure, with a finding.
std::vector<uint8_t> readScalar(const Reading& reading, const TorchFile& file, const TensorExtent& extent);

/// Records whether the step is stored as an int, a number or a tensor.
void setStepForm(const PickleGraph& graph, NodeId value, FlatUnit& unit);
/// The number in a value, or in a tensor of one element in `file`.
std::optional<double> scalarOf(const Reading& reading, FileId file, NodeId value);

/// Per param group of the torch optimizer state: options, and the state keys that it lists in "params".
struct GroupEntry {
    NodeId options = kNoNode;
    std::vector<int64_t> stateKeys;
};
std::vector<GroupEntry> readParamGroups(const PickleGraph& graph, NodeId torchState);
/// One of them: an item of `param_groups`.
GroupEntry readParamGroup(const PickleGraph& graph, NodeId options);

/// A state in a swap file instead of the optimizer file.
struct SwappedState {
    std::string name;
    DType dtype = DType::Float32;
    StoredRun run; ///< absent, with a finding, if the file is missing or too short
};

/// Where one rank's file stores its part of a unit.
struct RankStates {
    FileId file = kNoFile;
    NodeId master = kNoNode; ///< tensor node
    NodeId state = kNoNode; ///< mapping node; kNoNode if there is none
    const std::vector<SwappedState>* swapped = nullptr; ///< states in swap files; null if there are none
    bool lean = false; ///< its tensors have no padding, like the masters (elastic_checkpoint)
    /// Elastic ZeRO-3: states may be lists of tensors. This is the index of the unit's first parameter in
    /// them.
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
/// The optimizer file that provides what all ranks' files have in common: templateOptim, else the first
/// readable one of this checkpoint. kNoFile if there is none.
FileId guideOf(const Reading& reading);
/// Success if the masters of at least one rank have the length that the shapes give. If not, the shapes do
/// not belong to these files: Damaged. Success if no rank's masters can be checked.
Status requireShapesFit(const Reading& reading, const FlatUnit& unit, const std::vector<RankStates>& perRank);
/// Whether one rank's masters exist and have such a length.
bool masterFits(const Reading& reading, const FlatUnit& unit, uint32_t rank, const RankStates& source);
/// Fills unit.states from the fp32 list entry and from the optimizer's state mapping in every rank's file.
void fillUnitStates(const Reading& reading, FlatUnit& unit, const std::vector<RankStates>& perRank);

} // namespace shardscope
