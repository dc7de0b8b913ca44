// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/model/checkpoint.h"

namespace shardscope {

/// Fills the parameters, units, whole tensors and param groups of a checkpoint from its parts, in their
/// order: names that several parts have get a colon and whose they are. Not thread-safe.
void addModelsOfParts(Checkpoint& out);

} // namespace shardscope
