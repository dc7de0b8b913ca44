// SPDX-License-Identifier: Apache-2.0
#include "core/tensor/convert.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace shardscope {

namespace {

static_assert(std::endian::native == std::endian::little, "elements are read in place");

template <class T>
T loadAs(const uint8_t* bytes)
{
    T value;
    std::memcpy(&value, bytes, sizeof value);
    return value;
}

template <class T>
void store(uint8_t* bytes, T value)
{
    std::memcpy(bytes, &value, sizeof value);
}

uint16_t toBFloat16(uint32_t bits)
{
    if ((bits & 0x7FFFFFFFu) > 0x7F800000u)
        return 0x7FC0;
    return static_cast<uint16_t>((bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16);
}

uint16_t toFloat16(uint32_t bits)
{
    const auto sign = static_cast<uint16_t>((bits >> 16) & 0x8000u);
    const uint32_t magnitude = bits & 0x7FFFFFFFu;
    if (magnitude > 0x7F800000u)
        return sign | 0x7E00u;
    if (magnitude >= 0x477FF000u) // halfway between 65504 and 65536, and above
        return sign | 0x7C00u;
    if (magnitude < 0x38800000u) {
        // Below 2^-14: adding 0.5 makes the addition round to the step of the denormals, 2^-24.
        const float shifted = std::bit_cast<float>(magnitude) + 0.5F;
        return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(shifted) - 0x3F000000u));
    }
    const uint32_t odd = (magnitude >> 13) & 1u;
    return static_cast<uint16_t>(sign | ((magnitude - 0x38000000u + 0xFFFu + odd) >> 13));
}

uint32_t fromFloat16(uint16_t half)
{
    const uint32_t sign = (half & 0x8000u) << 16;
    const uint32_t magnitude = half & 0x7FFFu;
    if (magnitude >= 0x7C00u)
        return sign | 0x7F800000u | ((magnitude & 0x3FFu) << 13);
    if (magnitude >= 0x400u)
        return sign | ((magnitude << 13) + 0x38000000u);
    return sign | std::bit_cast<uint32_t>(static_cast<float>(magnitude) * 0x1p-24F);
}

bool isHalfOrSingle(DType dtype)
{
    return dtype == DType::Float32 || dtype == DType::Float16 || dtype == DType::BFloat16;
}

uint32_t loadBits(DType dtype, const uint8_t* bytes)
{
    switch (dtype) {
    case DType::Float16:
        return fromFloat16(loadAs<uint16_t>(bytes));
    case DType::BFloat16:
        return uint32_t{loadAs<uint16_t>(bytes)} << 16;
    default:
        return loadAs<uint32_t>(bytes);
    }
}

template <class Narrow>
void narrow(const uint8_t* in, uint8_t* out, size_t count, Narrow convert)
{
    for (size_t i = 0; i < count; ++i)
        store<uint16_t>(out + 2 * i, convert(loadAs<uint32_t>(in + 4 * i)));
}

template <class T>
std::optional<std::vector<uint8_t>> integerBytes(double value)
{
    // The bounds as doubles: 2^63 itself is representable, the largest integer below it is not.
    if (!(value >= static_cast<double>(std::numeric_limits<T>::min())
            && value < std::ldexp(1.0, std::numeric_limits<T>::digits)))
        return std::nullopt;
    std::vector<uint8_t> out(sizeof(T));
    store(out.data(), static_cast<T>(value));
    return out;
}

template <class T>
std::vector<uint8_t> plainBytes(T value)
{
    std::vector<uint8_t> out(sizeof(T));
    store(out.data(), value);
    return out;
}

} // namespace

bool canConvert(DType from, DType to)
{
    return from == to || (isHalfOrSingle(from) && isHalfOrSingle(to));
}

void convertElements(DType from, std::span<const uint8_t> in, DType to, std::span<uint8_t> out)
{
    if (from == to) {
        std::memcpy(out.data(), in.data(), std::min(in.size(), out.size()));
        return;
    }
    const uint32_t inItem = itemSize(from);
    const uint32_t outItem = itemSize(to);
    const size_t count = std::min(in.size() / inItem, out.size() / outItem);
    if (from == DType::Float32 && to == DType::BFloat16)
        return narrow(in.data(), out.data(), count, toBFloat16);
    if (from == DType::Float32)
        return narrow(in.data(), out.data(), count, toFloat16);
    for (size_t i = 0; i < count; ++i) {
        const uint32_t bits = loadBits(from, in.data() + i * inItem);
        if (to == DType::Float32)
            store(out.data() + i * outItem, bits);
        else
            store(out.data() + i * outItem, to == DType::BFloat16 ? toBFloat16(bits) : toFloat16(bits));
    }
}

std::optional<std::vector<uint8_t>> elementOf(DType dtype, double value)
{
    switch (dtype) {
    case DType::Float64:
        return plainBytes(value);
    case DType::Float32:
        return plainBytes(static_cast<float>(value));
    case DType::Float16:
        return plainBytes(toFloat16(std::bit_cast<uint32_t>(static_cast<float>(value))));
    case DType::BFloat16:
        return plainBytes(toBFloat16(std::bit_cast<uint32_t>(static_cast<float>(value))));
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
    default:
        return std::nullopt;
    }
}

} // namespace shardscope
