// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/model/checkpoint.h"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace shardscope {

/// The dtypes that the `module` of rank 0's model file lists for its tensors, including placeholders of
/// ZeRO-3. The names point into the checkpoint. Empty if that file is not readable. Pure.
std::map<std::string_view, DType> moduleTypes(const Checkpoint& source);

/// All parameters in the order of the model's state dict, if rank 0's model file lists them. The others
/// follow in the checkpoint's order. Pure.
std::vector<ParamId> modelOrder(const Checkpoint& source);

/// Tensors that rank 0's model file lists and no file of the checkpoint holds. These are ties that were not
/// recorded, and frozen parameters, which ZeRO-3 before 0.9.1 leaves out. Pure.
std::vector<std::string> unheldNames(const Checkpoint& source);

} // namespace shardscope
