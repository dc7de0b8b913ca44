// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/model/checkpoint.h"

namespace shardscope {

/// Fills the parameters, units, whole tensors and param groups of a checkpoint from its parts, in their
/// order. A name that several parts have gets a colon and the part. Not thread-safe.
void addModelsOfParts(Checkpoint& out);

} // namespace shardscope
