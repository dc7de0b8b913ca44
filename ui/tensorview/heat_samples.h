// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/io/file_system.h"
#include "ui/tensorview/tensor_slice.h"
#include "ui/tensorview/tensor_source.h"

#include <stop_token>
#include <vector>

namespace shardscope::ui {

enum class HeatKind : uint8_t {
    Nothing, ///< no element: the last line of a wrapped vector ends before the others
    Value,
    NotANumber,
    Infinite,
    Missing
};

/// A slice reduced to the cells of a picture. A cell of several elements shows the one with the largest
/// magnitude. NaN, then infinities, then missing elements take priority over values, so that none of them is
/// hidden where elements were read.
struct HeatSamples {
    static constexpr uint64_t kNoElement = 0xFFFFFFFFFFFFFFFFu;

    int width = 0;
    int height = 0;
    std::vector<double> values; ///< row by row
    std::vector<HeatKind> kinds;
    std::vector<uint64_t> elements; ///< the element of the value; kNoElement where the kind is Nothing
    bool sampled = false; ///< not every element of the slice was read
    double low = 0; ///< of the finite values
    double high = 0;
    bool anyFinite = false;
};

/// Reads a slice for a picture of at most 320 × 320. Slices above 8 MiB are sampled: lines evenly spread, or
/// single elements where lines are long or scattered. Empty when stopped. For a worker.
HeatSamples readHeat(io::FileSystem& files, const TensorSource& source, const TensorSlice& slice,
    const std::stop_token& token);

} // namespace shardscope::ui
