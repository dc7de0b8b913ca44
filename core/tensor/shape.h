// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace shardscope {

/// Dimensions of a tensor, in elements, outermost first. Empty = 0-dim = one element.
using Shape = std::vector<uint64_t>;

/// Product of the dimensions; nothing on overflow of 64 bits.
std::optional<uint64_t> elementCount(const Shape& shape);
/// "(4, 3)", "(5,)", "()" as Python prints torch.Size's tuple.
std::string shapeText(const Shape& shape);

} // namespace shardscope
