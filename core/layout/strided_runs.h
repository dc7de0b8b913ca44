// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/tensor/shape.h"

#include <cstdint>
#include <functional>
#include <optional>

namespace shardscope {

/// Elements of a tensor that lie back to back in its storage.
struct StridedRun {
    uint64_t element = 0; ///< first, in row-major order of the tensor
    uint64_t storageOffset = 0; ///< elements, from the tensor's first one
    uint64_t elements = 0;
};

/// The runs that hold elements [begin, end) of a tensor with these strides, in the order of the elements,
/// clipped. Stops when `visit` returns false. Nothing when shape and strides differ in length.
void forEachStridedRun(const Shape& shape, const std::vector<uint64_t>& strides, uint64_t begin, uint64_t end,
    const std::function<bool(const StridedRun&)>& visit);

/// The element whose storage offset this is; nothing when no element lies there. Where several do (expanded
/// tensors), the one with the smallest indices along the strides that matter. Exact for every permuted or
/// sliced tensor.
std::optional<uint64_t> elementAtStorageOffset(
    const Shape& shape, const std::vector<uint64_t>& strides, uint64_t storageOffset);

} // namespace shardscope
