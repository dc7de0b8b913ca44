// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/io/file_system.h"
#include "ui/tensorview/tensor_source.h"

#include <stop_token>
#include <vector>

namespace shardscope::ui {

/// Elements [first, end) of a vector, drawn as one column of a line.
struct LineColumn {
    uint64_t first = 0;
    uint64_t end = 0;
    uint64_t read = 0; ///< how many of them were read
    uint64_t missing = 0; ///< of those: in no file, or unreadable
    uint64_t nans = 0;
    uint64_t positive = 0; ///< infinities
    uint64_t negative = 0;
    double low = 0; ///< of the finite values
    double high = 0;
    uint64_t lowAt = 0; ///< the element that has it
    uint64_t highAt = 0;
    uint64_t oddAt = 0; ///< the first element that is NaN or infinite
    [[nodiscard]] bool hasValues() const { return read > missing + odd(); }
    [[nodiscard]] uint64_t odd() const { return nans + positive + negative; }
};

/// A range of a vector, reduced to columns with their lowest and highest value.
struct LineSamples {
    uint64_t begin = 0;
    uint64_t end = 0;
    std::vector<LineColumn> columns;
    bool sampled = false; ///< not every element of the range was read
    double low = 0; ///< of the finite values
    double high = 0;
    bool anyFinite = false;
    uint64_t nans = 0;
    uint64_t infinities = 0;
    uint64_t missing = 0;

    /// The column that an element of the range is in.
    [[nodiscard]] size_t columnOf(uint64_t element) const;
};

/// Reads elements [begin, end) for a line of at most `columns` columns. Every element of up to 64 MiB; of
/// more, 32 KiB in the middle of each column. On another host every element of up to 256 KiB; of more, 64
/// bytes of each column. Empty when stopped. For a worker.
LineSamples readLine(io::FileSystem& files, const TensorSource& source, uint64_t begin, uint64_t end,
    uint64_t columns, const std::stop_token& token);

} // namespace shardscope::ui
