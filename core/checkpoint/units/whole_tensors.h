// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/folder/reading_state.h"

namespace shardscope {

/// A tensor that a file holds whole as the copy of a parameter; false, with a finding, where it is not one.
bool addWholeTensor(Reading& reading, FileId file, ParamId param, const TensorView& tensor);
/// Puts Checkpoint::whole into its order, after tensors were added.
void sortWholeTensors(Reading& reading);

} // namespace shardscope
