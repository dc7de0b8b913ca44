// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/tensor/shape.h"

#include <cstdint>
#include <functional>
#include <optional>

namespace shardscope {

/// Elements of a tensor that are contiguous in its storage.
struct StridedRun {
    uint64_t element = 0; ///< first, in row-major order of the tensor
    uint64_t storageOffset = 0; ///< in elements, from the tensor's first one
    uint64_t elements = 0;
};

/// Visits the runs of elements [begin, end) of a tensor with these strides, in the order of the elements,
/// clipped. Stops when `visit` returns false. Visits nothing if shape and strides differ in length.
void forEachStridedRun(const Shape& shape, const std::vector<uint64_t>& strides, uint64_t begin, uint64_t end,
    const std::function<bool(const StridedRun&)>& visit);

/// The element at this storage offset; empty if there is none. If several elements share it (expanded
/// tensors), the one with the smallest indices. Exact for every permuted or sliced tensor.
std::optional<uint64_t> elementAtStorageOffset(
    const Shape& shape, const std::vector<uint64_t>& strides, uint64_t storageOffset);

} // namespace shardscope
