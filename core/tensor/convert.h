// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/tensor/dtype.h"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace shardscope {

/// Whether convertElements() knows the pair: float64, float32, float16, bfloat16, float8_e4m3fn and
/// float8_e5m2 among each other; integers and bool to those, and among each other; any dtype to itself.
/// Floats to integers are not supported.
[[nodiscard]] bool canConvert(DType from, DType to);

/// Converts little-endian elements as torch's `Tensor.to` does on a CPU: to nearest, ties to even, to narrow
/// floats by way of float32; beyond the range of the target ±inf (float8_e4m3fn, which has none: ±448). NaN
/// stays NaN, quiet and with what fits of its payload; in bfloat16 always 0x7FC0, where torch has one of
/// several by processor. Integers keep their lowest bits; to bool: not zero.
///
/// `in` holds whole elements, `out` as many of the other dtype; they do not overlap. canConvert(from, to)
/// must hold.
void convertElements(DType from, std::span<const uint8_t> in, DType to, std::span<uint8_t> out);

/// The little-endian bytes of one element with that value; nothing for dtypes that are not plain numbers, and
/// where the value does not fit an integer dtype.
std::optional<std::vector<uint8_t>> elementOf(DType dtype, double value);

} // namespace shardscope
