// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/tensor/dtype.h"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace shardscope {

/// Whether convertElements() knows the pair: float32, float16 and bfloat16 among each other, and any dtype to
/// itself.
[[nodiscard]] bool canConvert(DType from, DType to);

/// Converts little-endian elements as torch's `Tensor.to` does: to nearest, ties to even; beyond the range of
/// the target ±inf; NaN becomes torch's quiet NaN of that sign (bfloat16: always 0x7FC0).
///
/// `in` holds whole elements, `out` as many of the other dtype; they do not overlap. canConvert(from, to)
/// must hold.
void convertElements(DType from, std::span<const uint8_t> in, DType to, std::span<uint8_t> out);

/// The little-endian bytes of one element with that value; nothing for dtypes that are no plain numbers, and
/// where the value does not fit an integer dtype.
std::optional<std::vector<uint8_t>> elementOf(DType dtype, double value);

} // namespace shardscope
