// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/ids.h"

#include <string>
#include <string_view>

namespace shardscope {

struct Checkpoint;

/// Modules that wrap another one add a part to the names of its parameters: `_checkpoint_wrapped_module`
/// (torch/distributed/algorithms/_checkpoint/checkpoint_wrapper.py, which leaves it out of state dicts again)
/// and `_orig_mod` (torch/_dynamo/eval_frame.py). DeepSpeed records shapes by the names of parameters, and
/// weights by those of the state dict.

/// The name without these parts.
std::string withoutWrappers(std::string_view name);

/// The name that PEFT gives a tensor in an adapter's state dict (peft/utils/save_and_load.py): without
/// wrappers and without the adapter's own name. "a.lora_A.default.weight" becomes "a.lora_A.weight".
std::string withoutAdapterName(std::string_view name);

/// A parameter's name in the model's state dict, if it differs from the recorded one only by wrappers; else
/// the recorded one.
std::string stateDictName(const Checkpoint& checkpoint, ParamId param);

} // namespace shardscope
