// SPDX-License-Identifier: Apache-2.0
#include "core/tensor/comparison.h"

#include "core/tensor/convert.h"
#include "core/tensor/different_elements.h"
#include "core/tensor/element_io.h"
#include "core/tensor/statistics.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace shardscope {

namespace {

constexpr size_t kBlock = 2048;

/// The pattern as a number that ascends with the value, so that neighbours differ by one.
template <class Bits>
int64_t ordered(const uint8_t* bytes)
{
    constexpr unsigned kSignBit = sizeof(Bits) * 8 - 1;
    const Bits bits = loadElement<Bits>(bytes);
    const auto magnitude = static_cast<int64_t>(bits & static_cast<Bits>(~(Bits{1} << kSignBit)));
    return (bits >> kSignBit) != 0 ? -magnitude : magnitude;
}

/// Whether two values of one dtype are neighbours. No rounding makes integers differ.
bool areNeighbours(DType dtype, const uint8_t* left, const uint8_t* right)
{
    int64_t apart = 2;
    switch (isFloatingPoint(dtype) ? itemSize(dtype) : 0) {
    case 1:
        apart = ordered<uint8_t>(left) - ordered<uint8_t>(right);
        break;
    case 2:
        apart = ordered<uint16_t>(left) - ordered<uint16_t>(right);
        break;
    case 4:
        apart = ordered<uint32_t>(left) - ordered<uint32_t>(right);
        break;
    case 8: {
        const int64_t a = ordered<uint64_t>(left);
        const int64_t b = ordered<uint64_t>(right);
        return a == b || (a < b ? a + 1 == b : b + 1 == a);
    }
    default:
        return false;
    }
    return apart >= -1 && apart <= 1;
}

/// Two sides of one dtype, element by element where bits differ.
struct Sides {
    DType dtype = DType::Unknown;
    const uint8_t* left = nullptr;
    const uint8_t* right = nullptr;

    [[nodiscard]] Sides from(size_t element) const
    {
        const size_t bytes = element * itemSize(dtype);
        return {dtype, left + bytes, right + bytes};
    }
};

/// One element, by its bits and by its values.
void noteDifference(Comparison& out, const Sides& bits, double left, double right, const Tolerance& tolerance)
{
    ++out.different;
    const double apart = std::abs(left - right);
    if (!std::isfinite(left) || !std::isfinite(right)) {
        ++out.notFinite;
        out.notFiniteLeft += std::isfinite(left) ? 0 : 1;
        out.notFiniteRight += std::isfinite(right) ? 0 : 1;
        const bool same = left == right || (std::isnan(left) && std::isnan(right));
        out.beyond += same && !tolerance.isExact() ? 0 : 1;
        return;
    }
    out.maxAbsolute = std::max(out.maxAbsolute, apart);
    const bool close = apart <= tolerance.absolute + tolerance.relative * std::abs(right);
    out.beyond += close && !tolerance.isExact() ? 0 : 1;
    out.lastBit += areNeighbours(bits.dtype, bits.left, bits.right) ? 1 : 0;
}

/// Sums over a block in which all are finite, or those that are.
void addSums(Comparison& out, std::span<const double> left, std::span<const double> right)
{
    constexpr size_t kLanes = 4;
    std::array<std::array<double, kLanes>, 4> sums{};
    for (size_t i = 0; i < left.size(); ++i) {
        const double a = left[i];
        const double b = right[i];
        const bool both = std::isfinite(a) && std::isfinite(b);
        const double x = both ? a : 0;
        const double y = both ? b : 0;
        const size_t lane = i % kLanes;
        sums[0][lane] += (x - y) * (x - y);
        sums[1][lane] += x * x;
        sums[2][lane] += y * y;
        sums[3][lane] += x * y;
    }
    const auto total = [](const std::array<double, kLanes>& lanes) {
        return (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]);
    };
    out.squaredDifference = total(sums[0]);
    out.squaredLeft = total(sums[1]);
    out.squaredRight = total(sums[2]);
    out.product = total(sums[3]);
}

Comparison ofBlock(const Sides& sides, size_t count, uint64_t firstElement, const Tolerance& tolerance)
{
    Comparison out;
    out.elements = count;
    std::array<double, kBlock> left;
    std::array<double, kBlock> right;
    const bool known = withElement(sides.dtype, [&](auto element) {
        using Element = decltype(element);
        for (size_t i = 0; i < count; ++i) {
            left[i] = static_cast<double>(Element::load(sides.left + i * Element::kBytes));
            right[i] = static_cast<double>(Element::load(sides.right + i * Element::kBytes));
        }
    });
    const size_t item = itemSize(sides.dtype);
    const bool same = std::memcmp(sides.left, sides.right, count * item) == 0;
    for (size_t i = 0; !same && i < count; ++i) {
        if (std::memcmp(sides.left + i * item, sides.right + i * item, item) == 0)
            continue;
        out.firstDifferent = std::min(out.firstDifferent, firstElement + i);
        if (known)
            noteDifference(out, sides.from(i), left[i], right[i], tolerance);
        else
            ++out.different, ++out.beyond;
    }
    if (known)
        addSums(out, std::span(left).first(count), std::span(right).first(count));
    return out;
}

/// Of two dtypes.
bool isSameValue(double left, double right)
{
    return (left == right && std::signbit(left) == std::signbit(right))
        || (std::isnan(left) && std::isnan(right));
}

/// Of two dtypes: the values of the wider one as the narrower one has them, to see whether they are
/// neighbours.
Comparison ofTwoTypes(
    const TypedBytes& left, const TypedBytes& right, uint64_t firstElement, const Tolerance& tolerance)
{
    const size_t count = left.size();
    std::array<double, kBlock> a;
    std::array<double, kBlock> b;
    const auto read = [count](const TypedBytes& side, std::array<double, kBlock>& out) {
        withElement(side.dtype, [&](auto element) {
            using Element = decltype(element);
            for (size_t i = 0; i < count; ++i)
                out[i] = static_cast<double>(Element::load(side.bytes.data() + i * Element::kBytes));
        });
    };
    read(left, a);
    read(right, b);
    Comparison out;
    out.elements = count;
    const DType narrower = itemSize(left.dtype) < itemSize(right.dtype) ? left.dtype : right.dtype;
    for (size_t i = 0; i < count; ++i) {
        if (isSameValue(a[i], b[i]))
            continue;
        out.firstDifferent = std::min(out.firstDifferent, firstElement + i);
        const auto asNarrow = [&](double value) { return elementOf(narrower, value); };
        const auto x = asNarrow(a[i]);
        const auto y = asNarrow(b[i]);
        const Sides one{narrower, x ? x->data() : left.bytes.data(), y ? y->data() : left.bytes.data()};
        Comparison single;
        noteDifference(single, one, a[i], b[i], tolerance);
        if (!x || !y)
            single.lastBit = 0;
        out += single;
    }
    addSums(out, std::span(a).first(count), std::span(b).first(count));
    return out;
}

} // namespace

double Comparison::relativeL2() const
{
    const double larger = std::max(squaredLeft, squaredRight);
    return larger == 0 ? 0 : std::sqrt(squaredDifference / larger);
}

std::optional<double> Comparison::cosine() const
{
    if (squaredLeft == 0 || squaredRight == 0)
        return std::nullopt;
    return std::clamp(product / std::sqrt(squaredLeft) / std::sqrt(squaredRight), -1.0, 1.0);
}

Comparison& Comparison::operator+=(const Comparison& further)
{
    elements += further.elements;
    different += further.different;
    beyond += further.beyond;
    lastBit += further.lastBit;
    notFinite += further.notFinite;
    notFiniteLeft += further.notFiniteLeft;
    notFiniteRight += further.notFiniteRight;
    firstDifferent = std::min(firstDifferent, further.firstDifferent);
    maxAbsolute = std::max(maxAbsolute, further.maxAbsolute);
    squaredDifference += further.squaredDifference;
    squaredLeft += further.squaredLeft;
    squaredRight += further.squaredRight;
    product += further.product;
    return *this;
}

bool canCompare(DType left, DType right)
{
    return left == right || (hasStatistics(left) && hasStatistics(right));
}

Comparison plainComparison(
    const TypedBytes& left, const TypedBytes& right, uint64_t firstElement, const Tolerance& tolerance)
{
    Comparison out;
    const size_t count = std::min(left.size(), right.size());
    for (size_t begin = 0; begin < count; begin += kBlock) {
        const size_t size = std::min(kBlock, count - begin);
        const TypedBytes one = left.part(begin, size);
        const TypedBytes other = right.part(begin, size);
        const Sides bits{one.dtype, one.bytes.data(), other.bytes.data()};
        out += one.dtype == other.dtype ? ofBlock(bits, size, firstElement + begin, tolerance)
                                        : ofTwoTypes(one, other, firstElement + begin, tolerance);
    }
    return out;
}

namespace {

constexpr size_t kMaskElements = 64;
using MaskBytes = std::array<uint8_t, kMaskElements>; ///< 0 or 1 for each element

uint64_t packed(const MaskBytes& bytes)
{
    constexpr uint64_t kGather = 0x0102040810204080; // the lowest bits of eight bytes into the highest byte
    uint64_t out = 0;
    for (size_t i = 0; i < kMaskElements; i += 8)
        out |= (loadElement<uint64_t>(bytes.data() + i) * kGather >> 56) << i;
    return out;
}

template <class Bits>
void compareBits(const uint8_t* left, const uint8_t* right, size_t count, MaskBytes& out)
{
    const auto differs = [&](size_t i) -> uint8_t {
        return loadElement<Bits>(left + i * sizeof(Bits)) != loadElement<Bits>(right + i * sizeof(Bits));
    };
    if (count == kMaskElements) { // a number that the compiler knows
        for (size_t i = 0; i < kMaskElements; ++i)
            out[i] = differs(i);
        return;
    }
    for (size_t i = 0; i < count; ++i)
        out[i] = differs(i);
}

void compareValues(const TypedBytes& left, const TypedBytes& right, MaskBytes& out)
{
    std::array<std::array<double, kMaskElements>, 2> values{};
    const std::array<const TypedBytes*, 2> sides{&left, &right};
    for (const size_t side : {0U, 1U}) {
        const TypedBytes& from = *sides[side];
        withElement(from.dtype, [&](auto element) {
            using Element = decltype(element);
            for (size_t i = 0; i < from.size(); ++i)
                values[side][i] = static_cast<double>(Element::load(from.bytes.data() + i * Element::kBytes));
        });
    }
    for (size_t i = 0; i < left.size(); ++i)
        out[i] = isSameValue(values[0][i], values[1][i]) ? 0 : 1;
}

} // namespace

uint64_t differentElements(const TypedBytes& left, const TypedBytes& right)
{
    MaskBytes out{};
    const uint8_t* one = left.bytes.data();
    const uint8_t* other = right.bytes.data();
    const size_t item = itemSize(left.dtype);
    if (left.dtype != right.dtype) {
        compareValues(left, right, out);
        return packed(out);
    }
    if (std::memcmp(one, other, left.bytes.size()) == 0)
        return 0;
    switch (item) {
    case 1:
        compareBits<uint8_t>(one, other, left.size(), out);
        break;
    case 2:
        compareBits<uint16_t>(one, other, left.size(), out);
        break;
    case 4:
        compareBits<uint32_t>(one, other, left.size(), out);
        break;
    case 8:
        compareBits<uint64_t>(one, other, left.size(), out);
        break;
    default:
        for (size_t i = 0; i < left.size(); ++i)
            out[i] = std::memcmp(one + i * item, other + i * item, item) == 0 ? 0 : 1;
    }
    return packed(out);
}

} // namespace shardscope
