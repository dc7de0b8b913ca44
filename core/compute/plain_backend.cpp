// SPDX-License-Identifier: Apache-2.0
#include "core/compute/compute_backend.h"
#include "core/io/file_system.h"
#include "core/tensor/convert.h"

#include <new>

namespace shardscope {

namespace {

/// Bytes that stay in a processor's second cache between two uses.
constexpr size_t kBatchBytes = size_t{256} << 10;

class PlainBackend final : public ComputeBackend
{
public:
    Statistics statistics(
        DType dtype, std::span<const uint8_t> bytes, ValueHistogram* histogram) const override
    {
        return plainStatistics(dtype, bytes, histogram);
    }

    Comparison comparison(const TypedBytes& left, const TypedBytes& right, uint64_t firstElement,
        const Tolerance& tolerance) const override
    {
        return plainComparison(left, right, firstElement, tolerance);
    }

    void transform(std::span<const ElementCast> casts, std::span<ElementSum> sums) const override
    {
        for (const ElementCast& cast : casts)
            convertElements(cast.from, cast.in, cast.to, cast.out);
        for (ElementSum& sum : sums)
            sum.digest = plainSum(sum);
    }

    std::string device() const override { return "cpu"; }
    std::string name() const override { return "plain code"; }
    size_t batchBytes() const override { return kBatchBytes; }
};

} // namespace

HostMemory ComputeBackend::hostMemory(size_t bytes) const
{
    // Pages, so that files are read into it and written from it by direct I/O.
    constexpr std::align_val_t kPage{io::kDirectAlignment};
    return HostMemory(static_cast<uint8_t*>(::operator new(bytes, kPage)),
        [](uint8_t* memory) { ::operator delete(memory, kPage); });
}

const ComputeBackend& plainBackend()
{
    static const PlainBackend kBackend;
    return kBackend;
}

Digest plainSum(const ElementSum& sum)
{
    return sum.order ? digestTransposed(sum.key, sum.itemBytes, *sum.order, sum.first, sum.bytes)
                     : digestElements(sum.key, sum.itemBytes, sum.first, sum.bytes);
}

} // namespace shardscope
