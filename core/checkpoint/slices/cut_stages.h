// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/slices/joined_slices.h"

#include <map>

namespace shardscope {

/// Which layers of a PipelineModule go to which stage. No file records it: it follows from the method of
/// partition and from layers without parameters (deepspeed/runtime/pipe/module.py, _partition_layers).
struct StageCut {
    /// The first layer of every stage, and the number of all layers: PipelineModule.parts. Ascending, from 0.
    std::vector<uint32_t> bounds;
    /// By the key of a tied module (TiedLayerSpec), the layers that use it.
    std::map<std::string, std::vector<uint32_t>, std::less<>> tied;

    [[nodiscard]] uint32_t stages() const { return static_cast<uint32_t>(bounds.size()) - 1; }
    [[nodiscard]] uint32_t stageOf(uint32_t layer) const; ///< of a layer below bounds.back()
};

/// What joinStages() made, dealt to stages anew: every part has the parameters of its layers, stored whole in
/// `joined`, a copy of the tied modules that its layers use, ahead of them in the order of their first use
/// there, and the files of its layers. Model files are those of the source's stage at the same place.
///
/// Usage where `cut` leaves out a layer or a tied module that there is, names one that there is not, or names
/// a layer that uses a tied module and has parameters of its own or a file of other content; Refused where a
/// parameter belongs to no layer, or a stage would have no parameter of a param group: whether a run there
/// keeps such a group is not known.
Result<CheckpointPtr> cutStages(const CheckpointPtr& joined, const StageCut& cut);

} // namespace shardscope
