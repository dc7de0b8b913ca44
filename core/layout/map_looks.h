// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/model/checkpoint.h"
#include "core/layout/counts.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace shardscope {

/// The class of a parameter, for its colour; from its name and role.
enum class ParamClass : uint8_t { Embedding, Attention, Mlp, Expert, Norm, Bias, Other, Buffer };
ParamClass classOf(std::string_view name, const Shape& shape, ParamRole role);
std::string_view paramClassName(ParamClass value); ///< "embedding", "attention", "mlp", …

/// What one section of a map has: units, or tensors that no unit has.
struct MapSectionContent {
    std::vector<UnitId> units;
    std::vector<const WholeTensor*> tensors; ///< of the checkpoint
    uint8_t classes = 0; ///< of its parameters, 1 << ParamClass each
    bool hasFrozen = false; ///< as a file records (isFrozen)
    bool hasShared = false; ///< another parameter is tied to one of them
};

/// What views need to know of a checkpoint besides its model. It takes a scan of all names, parameters and
/// tensors, which is slow for hundreds of thousands: it is made once, on a worker, and shared. It points into
/// the checkpoint and must not outlive it. Immutable.
struct MapLooks {
    const Checkpoint* source = nullptr; ///< whose looks these are
    std::vector<ParamClass> classes; ///< index = ParamId
    std::vector<uint8_t> shared; ///< index = ParamId; 1: another parameter is tied to it
    bool hasClasses = false; ///< at least half of the elements are of parameters whose name tells a class
    /// The sections of the map, from top to bottom. A group and a sub-group have a section each, in every
    /// tensor slice and stage. The frozen parameters of a part share one, and so do the tensors of a group
    /// that are a unit each (distributed checkpoints). Frozen parameters and buffers that are stored whole,
    /// and weights alone, come last, with a section for each kind.
    std::vector<MapSectionContent> sections;
    std::vector<std::string> sectionStates; ///< names of the states of sections, in order of first use
    std::vector<std::string> states; ///< Checkpoint::stateNames()
    /// Without padding and what is lost, a tied tensor once; index as in `states`.
    std::vector<uint64_t> stateBytes;
    uint64_t lostBytes = 0; ///< of all states (lost_shares.h)
    uint64_t padding = 0; ///< elements, on all ranks together
    ParameterCounts parameters;
};
using MapLooksPtr = std::shared_ptr<const MapLooks>;
MapLooksPtr mapLooks(const Checkpoint& checkpoint);

} // namespace shardscope
