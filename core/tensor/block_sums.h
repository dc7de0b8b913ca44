// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace shardscope {

/// Sums over values: each in eight parts, the value with index i in part i mod 8. So several are computed at
/// a time, and every processor has the same bits. `magnitudes` is not finite if a value is not; the others
/// mean nothing then.
struct BlockSums {
    static constexpr size_t kParts = 8;

    std::array<double, kParts> values{};
    std::array<double, kParts> squares{};
    std::array<double, kParts> magnitudes{};
    std::array<double, kParts> low; ///< +inf in parts without values
    std::array<double, kParts> high; ///< -inf in those
    std::array<int64_t, kParts> zeros{};

    BlockSums();
};
BlockSums sumBlock(std::span<const double> all);

/// Σ (x − mean)², in the same parts.
std::array<double, BlockSums::kParts> sumSquaredDeviations(std::span<const double> all, double mean);

/// The same without wide vectors of the processor, for tests.
BlockSums sumBlockPlainly(std::span<const double> all);
std::array<double, BlockSums::kParts> sumSquaredDeviationsPlainly(std::span<const double> all, double mean);

} // namespace shardscope
