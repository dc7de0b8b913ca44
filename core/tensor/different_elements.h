// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/tensor/comparison.h"

namespace shardscope {

/// Which of at most 64 elements differ, as Comparison::different counts them: bit i is element i. Both sides
/// have the same number; canCompare(left.dtype, right.dtype) must hold.
uint64_t differentElements(const TypedBytes& left, const TypedBytes& right);

} // namespace shardscope
