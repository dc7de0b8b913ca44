// SPDX-License-Identifier: Apache-2.0
#include "core/tensor/convert.h"

#include "core/tensor/element_io.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

namespace shardscope {

namespace {

bool isInteger(DType dtype)
{
    bool integer = false;
    withElement(
        dtype, [&](auto element) { integer = std::is_integral_v<typename decltype(element)::Number>; });
    return integer;
}

bool isFloat(DType dtype)
{
    bool real = false;
    withElement(dtype, [&](auto element) { real = !std::is_integral_v<typename decltype(element)::Number>; });
    return real;
}

template <class Element, class Stored, class Convert>
void each(const uint8_t* in, uint8_t* out, size_t count, Convert convert)
{
    for (size_t i = 0; i < count; ++i)
        storeElement<Stored>(
            out + i * sizeof(Stored), static_cast<Stored>(convert(Element::load(in + i * Element::kBytes))));
}

template <class Element>
void convertTo(DType to, const uint8_t* in, uint8_t* out, size_t count)
{
    using Number = typename Element::Number;
    const auto bits = [](Number value) { return std::bit_cast<uint32_t>(static_cast<float>(value)); };
    switch (to) {
    case DType::Float64:
        return each<Element, double>(in, out, count, [](Number value) { return static_cast<double>(value); });
    case DType::Float32:
        return each<Element, float>(in, out, count, [](Number value) { return static_cast<float>(value); });
    case DType::Float16:
        return each<Element, uint16_t>(in, out, count, [&](Number value) { return toFloat16(bits(value)); });
    case DType::BFloat16:
        return each<Element, uint16_t>(in, out, count, [&](Number value) { return toBFloat16(bits(value)); });
    case DType::Float8E4M3:
        return each<Element, uint8_t>(
            in, out, count, [&](Number value) { return toFloat8E4M3(bits(value)); });
    case DType::Float8E5M2:
        return each<Element, uint8_t>(
            in, out, count, [&](Number value) { return toFloat8E5M2(bits(value)); });
    default:
        break;
    }
    if constexpr (std::is_integral_v<Number>) {
        if (to == DType::Bool)
            return each<Element, uint8_t>(in, out, count, [](Number value) { return value != 0; });
        const auto lowest = [](Number value) { return static_cast<uint64_t>(value); };
        switch (itemSize(to)) {
        case 8:
            return each<Element, uint64_t>(in, out, count, lowest);
        case 4:
            return each<Element, uint32_t>(in, out, count, lowest);
        case 2:
            return each<Element, uint16_t>(in, out, count, lowest);
        default:
            return each<Element, uint8_t>(in, out, count, lowest);
        }
    }
}

template <class T>
std::optional<std::vector<uint8_t>> integerBytes(double value)
{
    // The bounds as doubles: 2^63 itself is representable, the largest integer below it is not.
    if (!(value >= static_cast<double>(std::numeric_limits<T>::min())
            && value < std::ldexp(1.0, std::numeric_limits<T>::digits)))
        return std::nullopt;
    std::vector<uint8_t> out(sizeof(T));
    storeElement(out.data(), static_cast<T>(value));
    return out;
}

} // namespace

bool canConvert(DType from, DType to)
{
    if (from == to)
        return true;
    return (isFloat(from) && isFloat(to)) || (isInteger(from) && (isFloat(to) || isInteger(to)));
}

void convertElements(DType from, std::span<const uint8_t> in, DType to, std::span<uint8_t> out)
{
    if (in.empty())
        return; // perhaps without memory at all
    if (from == to) {
        std::memcpy(out.data(), in.data(), std::min(in.size(), out.size()));
        return;
    }
    withElement(from, [&](auto element) {
        using Element = decltype(element);
        const size_t count = std::min(in.size() / Element::kBytes, out.size() / itemSize(to));
        convertTo<Element>(to, in.data(), out.data(), count);
    });
}

std::optional<std::vector<uint8_t>> elementOf(DType dtype, double value)
{
    switch (dtype) {
    case DType::Int64:
        return integerBytes<int64_t>(value);
    case DType::Int32:
        return integerBytes<int32_t>(value);
    case DType::Int16:
        return integerBytes<int16_t>(value);
    case DType::Int8:
        return integerBytes<int8_t>(value);
    case DType::UInt8:
        return integerBytes<uint8_t>(value);
    case DType::Float64:
    case DType::Float32:
    case DType::Float16:
    case DType::BFloat16: {
        std::vector<uint8_t> bytes(sizeof value);
        storeElement(bytes.data(), value);
        std::vector<uint8_t> out(itemSize(dtype));
        convertElements(DType::Float64, bytes, dtype, out);
        return out;
    }
    default:
        return std::nullopt;
    }
}

} // namespace shardscope
