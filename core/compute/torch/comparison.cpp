// SPDX-License-Identifier: Apache-2.0
#include "core/compute/torch/operations.h"
#include "core/compute/torch/tensors.h"

#include <algorithm>
#include <cstring>
#include <vector>

namespace shardscope::compute {

namespace {

at::Tensor tensorOf(const TypedBytes& side)
{
    return over(side.bytes, side.dtype, *torchType(side.dtype));
}

/// The elements with these numbers, one after the other.
std::vector<uint8_t> pick(const TypedBytes& side, std::span<const int64_t> elements)
{
    const size_t item = itemSize(side.dtype);
    std::vector<uint8_t> out(elements.size() * item);
    for (size_t i = 0; i < elements.size(); ++i)
        std::memcpy(out.data() + i * item, side.bytes.data() + static_cast<size_t>(elements[i]) * item, item);
    return out;
}

at::ScalarType bitsOf(DType dtype)
{
    switch (itemSize(dtype)) {
    case 1:
        return at::kByte;
    case 2:
        return at::kShort;
    case 4:
        return at::kInt;
    default:
        return at::kLong;
    }
}

/// Where the sides differ, as comparison.h has it.
at::Tensor differing(
    const TypedBytes& left, const TypedBytes& right, const at::Tensor& a, const at::Tensor& b)
{
    if (left.dtype == right.dtype)
        return over(left.bytes, left.dtype, bitsOf(left.dtype))
            != over(right.bytes, right.dtype, bitsOf(right.dtype));
    const at::Tensor zeros = (a == b).logical_and(at::signbit(a) != at::signbit(b));
    return (a != b).logical_and(at::isnan(a).logical_and(at::isnan(b)).logical_not()).logical_or(zeros);
}

Comparison ofBlock(
    const TypedBytes& left, const TypedBytes& right, uint64_t firstElement, const Tolerance& tolerance)
{
    at::Tensor a = tensorOf(left).to(at::kDouble);
    at::Tensor b = tensorOf(right).to(at::kDouble);
    Comparison out;
    const at::Tensor where = differing(left, right, a, b).nonzero().flatten();
    if (where.numel() > 0) {
        // Usually few: plain code reports each of them.
        const std::span<const int64_t> elements(
            where.data_ptr<int64_t>(), static_cast<size_t>(where.numel()));
        const std::vector<uint8_t> leftOnes = pick(left, elements);
        const std::vector<uint8_t> rightOnes = pick(right, elements);
        out = plainComparison({left.dtype, leftOnes}, {right.dtype, rightOnes}, 0, tolerance);
        out.firstDifferent = firstElement + static_cast<uint64_t>(elements.front());
    }
    out.elements = static_cast<uint64_t>(a.numel());
    const at::Tensor both = at::isfinite(a).logical_and(at::isfinite(b));
    if (!both.all().item<bool>()) {
        a = a.masked_select(both);
        b = b.masked_select(both);
    }
    out.squaredDifference = (a - b).square().sum().item<double>();
    out.squaredLeft = a.square().sum().item<double>();
    out.squaredRight = b.square().sum().item<double>();
    out.product = (a * b).sum().item<double>();
    return out;
}

} // namespace

bool torchCanCompare(DType left, DType right)
{
    return torchType(left) && torchType(right);
}

Comparison torchComparison(
    const TypedBytes& left, const TypedBytes& right, uint64_t firstElement, const Tolerance& tolerance)
{
    const size_t count = std::min(left.size(), right.size());
    Comparison out;
    for (size_t begin = 0; begin < count; begin += kBlockElements) {
        const size_t size = std::min(kBlockElements, count - begin);
        out += ofBlock(left.part(begin, size), right.part(begin, size), firstElement + begin, tolerance);
    }
    return out;
}

} // namespace shardscope::compute
