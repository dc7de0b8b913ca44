// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/tensor/shape.h"

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace shardscope {

/// A part of a tensor: indices [offsets[d], offsets[d] + sizes[d]) in each dimension d. What it holds is
/// numbered row by row like a tensor of its own.
struct Box {
    Shape offsets;
    Shape sizes;

    /// The number, within the box, of an element of the tensor.
    [[nodiscard]] uint64_t elementOf(const Shape& shape, uint64_t element) const;
};

/// Elements of a tensor that are contiguous in a box.
struct BoxRun {
    uint32_t box = 0; ///< position in the list of boxes
    uint64_t element = 0; ///< first, in row-major order of the tensor
    uint64_t boxElement = 0; ///< the same in that of the box
    uint64_t elements = 0;
};

/// The runs that hold elements [begin, end) of a tensor that the boxes cover once, in the tensor's order,
/// clipped. Stops when `visit` returns false. Elements that no box or several have are left out.
void forEachBoxRun(const Shape& shape, std::span<const Box> boxes, uint64_t begin, uint64_t end,
    const std::function<bool(const BoxRun&)>& visit);

/// The runs of one box, in its own order; `BoxRun::box` is 0.
void forEachRunOfBox(const Shape& shape, const Box& box, const std::function<void(const BoxRun&)>& visit);

/// Whether every element of the tensor is in exactly one box. The boxes are inside the tensor, and its number
/// of elements fits 64 bits. More than `effort` steps count as not covered, and `effort` is reduced by the
/// used steps: boxes may come from a malicious file. Pure; thread-safe.
[[nodiscard]] bool coverOnce(const Shape& shape, std::span<const Box> boxes, uint64_t& effort);

} // namespace shardscope
