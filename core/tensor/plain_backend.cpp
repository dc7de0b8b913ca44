// SPDX-License-Identifier: Apache-2.0
#include "core/tensor/compute_backend.h"

namespace shardscope {

namespace {

class PlainBackend final : public ComputeBackend
{
public:
    Statistics statistics(
        DType dtype, std::span<const uint8_t> bytes, ValueHistogram* histogram) const override
    {
        return plainStatistics(dtype, bytes, histogram);
    }

    Comparison comparison(DType left, std::span<const uint8_t> leftBytes, DType right,
        std::span<const uint8_t> rightBytes, uint64_t firstElement, const Tolerance& tolerance) const override
    {
        return plainComparison(left, leftBytes, right, rightBytes, firstElement, tolerance);
    }
};

} // namespace

const ComputeBackend& plainBackend()
{
    static const PlainBackend kBackend;
    return kBackend;
}

} // namespace shardscope
