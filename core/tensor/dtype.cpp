// SPDX-License-Identifier: Apache-2.0
#include "core/tensor/dtype.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

namespace shardscope {

namespace {

struct Row {
    DType dtype;
    uint32_t bytes;
    std::string_view name;
    std::string_view storage; ///< empty: UntypedStorage
};

constexpr std::array<Row, 22> kRows{{
    {DType::Unknown, 1, "unknown", ""},
    {DType::Float64, 8, "float64", "DoubleStorage"},
    {DType::Float32, 4, "float32", "FloatStorage"},
    {DType::Float16, 2, "float16", "HalfStorage"},
    {DType::BFloat16, 2, "bfloat16", "BFloat16Storage"},
    {DType::Int64, 8, "int64", "LongStorage"},
    {DType::Int32, 4, "int32", "IntStorage"},
    {DType::Int16, 2, "int16", "ShortStorage"},
    {DType::Int8, 1, "int8", "CharStorage"},
    {DType::UInt8, 1, "uint8", "ByteStorage"},
    {DType::Bool, 1, "bool", "BoolStorage"},
    {DType::UInt16, 2, "uint16", ""},
    {DType::UInt32, 4, "uint32", ""},
    {DType::UInt64, 8, "uint64", ""},
    {DType::Complex32, 4, "complex32", ""},
    {DType::Complex64, 8, "complex64", "ComplexFloatStorage"},
    {DType::Complex128, 16, "complex128", "ComplexDoubleStorage"},
    {DType::Float8E5M2, 1, "float8_e5m2", ""},
    {DType::Float8E4M3, 1, "float8_e4m3fn", ""},
    {DType::Float8E5M2Fnuz, 1, "float8_e5m2fnuz", ""},
    {DType::Float8E4M3Fnuz, 1, "float8_e4m3fnuz", ""},
    {DType::Float8E8M0, 1, "float8_e8m0fnu", ""},
}};

constexpr bool rowsFollowTheEnum()
{
    for (size_t i = 0; i < kRows.size(); ++i)
        if (static_cast<size_t>(kRows[i].dtype) != i)
            return false;
    return true;
}
static_assert(rowsFollowTheEnum());

const Row& row(DType dtype)
{
    return kRows[static_cast<size_t>(dtype)];
}

template <class T>
T load(const uint8_t* bytes)
{
    T value{};
    std::memcpy(&value, bytes, sizeof value);
    return value;
}

/// How a float of at most 16 bits is laid out, sign first.
struct SmallFloat {
    unsigned exponentBits;
    unsigned mantissaBits;
    int bias;
    bool hasInfinity; ///< the largest exponent is reserved, as in IEEE 754
    bool unsignedZero; ///< "fnuz": no negative zero, its pattern is the only nan
};

constexpr SmallFloat kHalf{5, 10, 15, true, false};
constexpr SmallFloat kE5M2{5, 2, 15, true, false};
constexpr SmallFloat kE4M3{4, 3, 7, false, false};
constexpr SmallFloat kE5M2Fnuz{5, 2, 16, false, true};
constexpr SmallFloat kE4M3Fnuz{4, 3, 8, false, true};

double decode(unsigned bits, const SmallFloat& format)
{
    const unsigned signShift = format.exponentBits + format.mantissaBits;
    const bool negative = (bits >> signShift & 1u) != 0;
    const unsigned magnitude = bits & ((1u << signShift) - 1);
    const unsigned exponent = magnitude >> format.mantissaBits;
    const unsigned mantissa = magnitude & ((1u << format.mantissaBits) - 1);
    const unsigned largest = (1u << format.exponentBits) - 1;
    const double nan = std::numeric_limits<double>::quiet_NaN();
    if (format.unsignedZero && negative && magnitude == 0)
        return nan;
    if (format.hasInfinity && exponent == largest) {
        if (mantissa != 0)
            return nan;
        return negative ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
    }
    if (!format.hasInfinity && !format.unsignedZero && magnitude == (1u << signShift) - 1)
        return nan; // e4m3fn: only the last pattern
    const double fraction = std::ldexp(mantissa, -static_cast<int>(format.mantissaBits));
    const double value = exponent == 0 ? std::ldexp(fraction, 1 - format.bias)
                                       : std::ldexp(1 + fraction, static_cast<int>(exponent) - format.bias);
    return negative ? -value : value;
}

/// The value of a float narrower than 32 bits, from its bits.
double narrow(DType dtype, unsigned bits)
{
    switch (dtype) {
    case DType::Float16:
        return decode(bits, kHalf);
    case DType::BFloat16:
        return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
    case DType::Float8E5M2:
        return decode(bits, kE5M2);
    case DType::Float8E4M3:
        return decode(bits, kE4M3);
    case DType::Float8E5M2Fnuz:
        return decode(bits, kE5M2Fnuz);
    case DType::Float8E4M3Fnuz:
        return decode(bits, kE4M3Fnuz);
    default: // Float8E8M0: an exponent alone
        return bits == 0xFF ? std::numeric_limits<double>::quiet_NaN()
                            : std::ldexp(1.0, static_cast<int>(bits) - 127);
    }
}

template <class T>
std::string shortest(T value)
{
    if (std::isnan(value))
        return "nan";
    std::array<char, 64> buffer{};
    const auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
    return {buffer.data(), end};
}

/// The fewest digits that are closer to this element than to its neighbours.
std::string shortestNarrow(DType dtype, unsigned bits)
{
    const double value = narrow(dtype, bits);
    if (!std::isfinite(value) || value == 0)
        return shortest(value);
    const auto distance = [&](unsigned neighbour) {
        const double other = narrow(dtype, neighbour);
        return std::isfinite(other) ? std::fabs(other - value) : std::numeric_limits<double>::infinity();
    };
    const double room = std::min(distance(bits - 1), distance(bits + 1)) / 2;
    std::array<char, 64> buffer{};
    for (int digits = 1; digits <= 17; ++digits) {
        const auto [end, error] = std::to_chars(
            buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::scientific, digits - 1);
        double candidate = 0;
        std::from_chars(buffer.data(), end, candidate);
        if (std::fabs(candidate - value) < room)
            return shortest(candidate);
    }
    return shortest(value);
}

bool isNarrow(DType dtype)
{
    return isFloatingPoint(dtype) && itemSize(dtype) <= 2;
}

std::string complexText(const std::string& real, std::string imaginary)
{
    if (imaginary.front() != '-')
        imaginary.insert(imaginary.begin(), '+');
    return "(" + real + imaginary + "j)";
}

} // namespace

uint32_t itemSize(DType dtype)
{
    return row(dtype).bytes;
}

std::string_view dtypeName(DType dtype)
{
    return row(dtype).name;
}

std::optional<DType> dtypeFromName(std::string_view torchName)
{
    for (const Row& candidate : kRows)
        if (candidate.name == torchName && candidate.dtype != DType::Unknown)
            return candidate.dtype;
    return std::nullopt;
}

std::optional<DType> dtypeFromStorageClass(std::string_view className)
{
    if (className == "UntypedStorage")
        return DType::UInt8;
    for (const Row& candidate : kRows)
        if (!candidate.storage.empty() && candidate.storage == className)
            return candidate.dtype;
    return std::nullopt;
}

std::string_view storageClassOf(DType dtype)
{
    return row(dtype).storage;
}

bool isFloatingPoint(DType dtype)
{
    return row(dtype).name.starts_with("float") || dtype == DType::BFloat16;
}

double elementAsDouble(DType dtype, const uint8_t* bytes)
{
    switch (dtype) {
    case DType::Float64:
    case DType::Complex128:
        return load<double>(bytes);
    case DType::Float32:
    case DType::Complex64:
        return load<float>(bytes);
    case DType::Complex32:
        return decode(load<uint16_t>(bytes), kHalf);
    case DType::Int64:
        return static_cast<double>(load<int64_t>(bytes));
    case DType::Int32:
        return load<int32_t>(bytes);
    case DType::Int16:
        return load<int16_t>(bytes);
    case DType::Int8:
        return load<int8_t>(bytes);
    case DType::UInt64:
        return static_cast<double>(load<uint64_t>(bytes));
    case DType::UInt32:
        return load<uint32_t>(bytes);
    case DType::UInt16:
        return load<uint16_t>(bytes);
    case DType::Bool:
        return bytes[0] != 0 ? 1 : 0;
    case DType::UInt8:
    case DType::Unknown:
        return bytes[0];
    default:
        return narrow(dtype, itemSize(dtype) == 2 ? load<uint16_t>(bytes) : bytes[0]);
    }
}

std::string elementAsText(DType dtype, const uint8_t* bytes)
{
    if (isNarrow(dtype))
        return shortestNarrow(dtype, itemSize(dtype) == 2 ? load<uint16_t>(bytes) : bytes[0]);
    switch (dtype) {
    case DType::Float64:
        return shortest(load<double>(bytes));
    case DType::Float32:
        return shortest(load<float>(bytes));
    case DType::Complex32:
        return complexText(shortestNarrow(DType::Float16, load<uint16_t>(bytes)),
            shortestNarrow(DType::Float16, load<uint16_t>(bytes + 2)));
    case DType::Complex64:
        return complexText(shortest(load<float>(bytes)), shortest(load<float>(bytes + 4)));
    case DType::Complex128:
        return complexText(shortest(load<double>(bytes)), shortest(load<double>(bytes + 8)));
    case DType::Bool:
        return bytes[0] != 0 ? "True" : "False";
    case DType::Int64:
        return std::to_string(load<int64_t>(bytes));
    case DType::UInt64:
        return std::to_string(load<uint64_t>(bytes));
    default:
        return std::to_string(static_cast<int64_t>(elementAsDouble(dtype, bytes)));
    }
}

} // namespace shardscope
