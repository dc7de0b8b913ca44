// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/layout/slices/merged_slices.h"

#include <map>

namespace shardscope {

/// Assigns the layers of a PipelineModule to stages. No file records this. It follows from the partition
/// method and from layers without parameters (deepspeed/runtime/pipe/module.py, _partition_layers).
struct StageSplit {
    /// The first layer of every stage, then the number of all layers: PipelineModule.parts. Ascending, starts
    /// with 0.
    std::vector<uint32_t> bounds;
    /// The layers that use a tied module, by its key (TiedLayerSpec).
    std::map<std::string, std::vector<uint32_t>, std::less<>> tied;

    [[nodiscard]] uint32_t stages() const { return static_cast<uint32_t>(bounds.size()) - 1; }
    [[nodiscard]] uint32_t stageOf(uint32_t layer) const; ///< of a layer below bounds.back()
};

/// Splits the result of mergeStages() into stages. Every part has: the parameters of its layers, stored whole
/// in `merged`; before them a copy of each tied module that its layers use, in the order of first use there;
/// and the files of its layers. A part takes the model file of the source's stage at the same place.
///
/// Usage if `split` leaves out a layer or tied module, or names an unknown one. Usage, too, if a layer that
/// it names for a tied module has parameters of its own or a file with other content. Refused if a parameter
/// belongs to no layer, or a stage would have no parameter of a param group: it is not known whether a run
/// keeps such a group.
Result<CheckpointPtr> splitStages(const CheckpointPtr& merged, const StageSplit& split);

} // namespace shardscope
