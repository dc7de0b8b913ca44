// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/folder/reading_state.h"

namespace shardscope {

/// Adds a tensor that a file holds whole as the copy of a parameter. False, with a finding, if it is not such
/// a copy.
bool addWholeTensor(Reading& reading, FileId file, ParamId param, const TensorView& tensor);
/// Sorts Checkpoint::whole after tensors were added.
void sortWholeTensors(Reading& reading);

} // namespace shardscope
