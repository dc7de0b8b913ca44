// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/model/checkpoint.h"
#include "core/tensor/update_rule.h"

#include <optional>
#include <string>
#include <vector>

namespace shardscope {

/// What a scalar of a checkpoint belongs to.
enum class ScalarKind {
    Step, ///< of a param group's optimizer
    Option, ///< of a param group
    Scaler,
    Scheduler,
    Counter, ///< of the engine: global_steps and the like
    ClientState, ///< a key that the training script saved
};

/// One value beside the tensors, as text.
struct StateScalar {
    ScalarKind kind = ScalarKind::Option;
    int32_t group = -1; ///< of steps and options; groups of experts that are alike count as one
    std::string name;
    std::string value;
};

/// All that a training state has beside tensors, in the order above, in digested_scalars.h's spelling.
std::vector<StateScalar> stateScalars(const Checkpoint& checkpoint);

/// How a param group's next step is made; of kind Unknown where the optimizer's rule is not known, or its
/// options are not told. Groups of AdamW and Adam look alike up to torch 2.6: they count as AdamW.
UpdateRule updateRule(const Checkpoint& checkpoint, const ParamGroup& group);

} // namespace shardscope
