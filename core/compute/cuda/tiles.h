// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

/// The data that host and GPU exchange: plain data, the same for nvcc and the host's compiler. Pointers are
/// to memory of the GPU.
namespace shardscope::compute {

/// Threads of a block. Every kernel gives each tile to one block.
inline constexpr uint32_t kThreads = 256;
/// Elements of a tile of statistics or of a comparison: the same number as in plain code's blocks.
inline constexpr uint32_t kTileElements = 2048;
/// Elements of a tile of casts or sums.
inline constexpr uint32_t kLongTileElements = 16384;

/// The float dtypes that kernels know.
enum class GpuFloat : uint32_t { F64, F32, F16, BF16, F8E4M3, F8E5M2 };
inline constexpr uint32_t kGpuItemBytes[]{8, 4, 2, 2, 1, 1};

struct CastTile {
    const uint8_t* in;
    uint8_t* out;
    GpuFloat from;
    GpuFloat to;
    uint32_t elements;
};

/// Elements of 1, 2, 4 or 8 bytes, for the weighted sums of core/tensor/element_digest.h, version 2.
struct SumTile {
    const uint8_t* words;
    uint64_t first; ///< number of the first element; with rows, its stored number
    uint64_t rows; ///< of a matrix that is stored column by column, else 0
    uint64_t columns;
    uint32_t wordBytes;
    uint32_t elements;
};
/// Both lanes, without a key, modulo 2^64.
struct TileSum {
    uint64_t lanes[2];
};

/// As core/tensor/statistics.h has them.
struct TileStatistics {
    double min;
    double max;
    double sum;
    double squaredDeviations;
    double squares;
    double magnitudes;
    uint32_t zeros;
    uint32_t nans;
    uint32_t infinities;
    uint32_t elements;
};

/// As core/tensor/comparison.h has them; firstDifferent counts from the tile's first element.
struct TileComparison {
    double maxAbsolute;
    double squaredDifference;
    double squaredLeft;
    double squaredRight;
    double product;
    uint32_t different;
    uint32_t beyond;
    uint32_t lastBit;
    uint32_t notFinite;
    uint32_t notFiniteLeft;
    uint32_t notFiniteRight;
    uint32_t firstDifferent;
    uint32_t elements;
};

/// As core/tensor/comparison.h has it.
struct GpuTolerance {
    double relative;
    double absolute;
};

/// Elements in GPU memory.
struct GpuElements {
    const uint8_t* bytes;
    GpuFloat type;
    uint64_t count;
};

inline constexpr uint32_t kHistogramBins = 65536;

} // namespace shardscope::compute
