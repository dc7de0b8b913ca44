// SPDX-License-Identifier: Apache-2.0
#include "core/layout/model_dtype.h"

namespace shardscope {

DType modelDtype(const Checkpoint& checkpoint, ParamId param)
{
    const Parameter& parameter = checkpoint.params[index(param)];
    const ParamId owner = parameter.sharedWith == kNoParam ? param : parameter.sharedWith;
    if (const WholeTensor* whole = checkpoint.wholeOf(owner))
        return whole->dtype;
    // ZeRO-3 keeps no copy in the model's dtype. The precision of the run gives the dtype of the weights.
    if (checkpoint.params[index(owner)].role == ParamRole::Trainable) {
        if (checkpoint.precision == "bf16")
            return DType::BFloat16;
        if (checkpoint.precision == "fp16")
            return DType::Float16;
    }
    const FlatUnit* unit = checkpoint.unitOf(owner);
    return unit == nullptr || unit->states.empty() ? DType::Unknown : unit->states.front().dtype;
}

} // namespace shardscope
