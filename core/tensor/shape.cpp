// SPDX-License-Identifier: Apache-2.0
#include "core/tensor/shape.h"

#include "core/base/checked.h"

namespace shardscope {

std::optional<uint64_t> elementCount(const Shape& shape)
{
    // A zero anywhere makes the product zero, even after an overflow.
    for (const uint64_t size : shape)
        if (size == 0)
            return 0;
    uint64_t count = 1;
    for (const uint64_t size : shape) {
        const auto next = checkedMultiply(count, size);
        if (!next)
            return std::nullopt;
        count = *next;
    }
    return count;
}

std::string shapeText(const Shape& shape)
{
    std::string text = "(";
    for (size_t i = 0; i < shape.size(); ++i)
        text += (i > 0 ? ", " : "") + std::to_string(shape[i]);
    return text + (shape.size() == 1 ? ",)" : ")");
}

} // namespace shardscope
