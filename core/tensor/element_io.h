// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/tensor/dtype.h"
#include "core/tensor/float_bits.h"

#include <bit>
#include <cstring>

/// One element at a time, by dtype, for loops that the compiler then makes for each.
namespace shardscope {

static_assert(std::endian::native == std::endian::little, "elements are read in place");

template <class T>
T loadElement(const uint8_t* bytes)
{
    T value;
    std::memcpy(&value, bytes, sizeof value);
    return value;
}

template <class T>
void storeElement(uint8_t* bytes, T value)
{
    std::memcpy(bytes, &value, sizeof value);
}

/// A dtype's elements in memory, and the C++ number that holds each of them exactly.
template <class Stored, class Value, Value (*Decode)(Stored)>
struct ElementOf {
    static constexpr size_t kBytes = sizeof(Stored);
    using Number = Value;
    static Value load(const uint8_t* bytes) { return Decode(loadElement<Stored>(bytes)); }
};

namespace element {

template <class T>
T same(T value)
{
    return value;
}
inline float half(uint16_t bits)
{
    return std::bit_cast<float>(fromFloat16(bits));
}
inline float brain(uint16_t bits)
{
    return std::bit_cast<float>(fromBFloat16(bits));
}
inline float e4m3(uint8_t bits)
{
    return std::bit_cast<float>(fromFloat8E4M3(bits));
}
inline float e5m2(uint8_t bits)
{
    return std::bit_cast<float>(fromFloat8E5M2(bits));
}
inline uint8_t truth(uint8_t byte)
{
    return byte != 0 ? 1 : 0;
}

} // namespace element

/// Calls `use` with the ElementOf of a real dtype; false for complex, unknown and the rarer float8 dtypes.
template <class Use>
bool withElement(DType dtype, Use&& use)
{
    switch (dtype) {
    case DType::Float64:
        use(ElementOf<double, double, element::same<double>>());
        return true;
    case DType::Float32:
        use(ElementOf<float, float, element::same<float>>());
        return true;
    case DType::Float16:
        use(ElementOf<uint16_t, float, element::half>());
        return true;
    case DType::BFloat16:
        use(ElementOf<uint16_t, float, element::brain>());
        return true;
    case DType::Float8E4M3:
        use(ElementOf<uint8_t, float, element::e4m3>());
        return true;
    case DType::Float8E5M2:
        use(ElementOf<uint8_t, float, element::e5m2>());
        return true;
    case DType::Int64:
        use(ElementOf<int64_t, int64_t, element::same<int64_t>>());
        return true;
    case DType::Int32:
        use(ElementOf<int32_t, int32_t, element::same<int32_t>>());
        return true;
    case DType::Int16:
        use(ElementOf<int16_t, int16_t, element::same<int16_t>>());
        return true;
    case DType::Int8:
        use(ElementOf<int8_t, int8_t, element::same<int8_t>>());
        return true;
    case DType::UInt8:
        use(ElementOf<uint8_t, uint8_t, element::same<uint8_t>>());
        return true;
    case DType::Bool:
        use(ElementOf<uint8_t, uint8_t, element::truth>());
        return true;
    case DType::UInt16:
        use(ElementOf<uint16_t, uint16_t, element::same<uint16_t>>());
        return true;
    case DType::UInt32:
        use(ElementOf<uint32_t, uint32_t, element::same<uint32_t>>());
        return true;
    case DType::UInt64:
        use(ElementOf<uint64_t, uint64_t, element::same<uint64_t>>());
        return true;
    default:
        return false;
    }
}

} // namespace shardscope
