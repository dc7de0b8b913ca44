// SPDX-License-Identifier: Apache-2.0
#include "core/layout/strided_runs.h"

#include <algorithm>
#include <numeric>

namespace shardscope {

namespace {

bool isUsable(const Shape& shape, const std::vector<uint64_t>& strides)
{
    return shape.size() == strides.size() && std::find(shape.begin(), shape.end(), 0) == shape.end();
}

} // namespace

void forEachStridedRun(const Shape& shape, const std::vector<uint64_t>& strides, uint64_t begin, uint64_t end,
    const std::function<bool(const StridedRun&)>& visit)
{
    if (!isUsable(shape, strides))
        return;
    // Packed trailing dimensions form one run.
    uint64_t runLength = 1;
    size_t outer = shape.size();
    while (outer > 0 && (shape[outer - 1] == 1 || strides[outer - 1] == runLength))
        runLength *= shape[--outer];

    while (begin < end) {
        uint64_t rest = begin / runLength;
        uint64_t offset = begin % runLength;
        const uint64_t elements = std::min(runLength - offset, end - begin);
        for (size_t dimension = outer; dimension-- > 0;) {
            offset += rest % shape[dimension] * strides[dimension];
            rest /= shape[dimension];
        }
        if (rest != 0 || !visit({begin, offset, elements})) // rest: beyond the tensor
            return;
        begin += elements;
    }
}

std::optional<uint64_t> elementAtStorageOffset(
    const Shape& shape, const std::vector<uint64_t>& strides, uint64_t storageOffset)
{
    if (!isUsable(shape, strides))
        return std::nullopt;
    std::vector<size_t> byStride(shape.size());
    std::iota(byStride.begin(), byStride.end(), size_t{0});
    std::stable_sort(
        byStride.begin(), byStride.end(), [&](size_t a, size_t b) { return strides[a] > strides[b]; });
    Shape position(shape.size(), 0);
    for (const size_t dimension : byStride) {
        if (strides[dimension] == 0 || shape[dimension] == 1)
            continue;
        position[dimension] = std::min(storageOffset / strides[dimension], shape[dimension] - 1);
        storageOffset -= position[dimension] * strides[dimension];
    }
    if (storageOffset != 0)
        return std::nullopt;
    uint64_t element = 0;
    for (size_t dimension = 0; dimension < shape.size(); ++dimension)
        element = element * shape[dimension] + position[dimension];
    return element;
}

} // namespace shardscope
