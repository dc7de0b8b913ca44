// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/io/file_system.h"
#include "ui/tensorview/element_places.h"
#include "ui/tensorview/tensor_slice.h"
#include "ui/tensorview/tensor_source.h"

#include <QLine>

#include <stop_token>
#include <vector>

namespace shardscope::ui {

enum class HeatKind : uint8_t {
    Nothing, ///< not read
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
    std::vector<QLine> borders; ///< between cells of different ranks, in cells from the top left corner
    bool sampled = false; ///< not every element of the slice was read
    double low = 0; ///< of the finite values
    double high = 0;
    bool anyFinite = false;
};

/// Reads a slice for a picture of at most 320 × 320. Slices above 8 MiB, or 256 KiB on another host, are
/// sampled: lines evenly spread, or single elements where lines are long, scattered, or on another host.
/// Empty when stopped. For a worker.
HeatSamples readHeat(io::FileSystem& files, const TensorSource& source, const TensorSlice& slice,
    const std::stop_token& token);

/// Where a rank's elements end in a picture of a slice. Empty if ranks are closer to each other than a few
/// cells: then lines would hide the values.
std::vector<QLine> rankBorders(const ElementPlaces& places, const TensorSlice& slice, int width, int height);

} // namespace shardscope::ui
