// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <concepts>
#include <cstdint>
#include <optional>

namespace shardscope {

/// Arithmetic on sizes that come from files: the result, or nothing on overflow.
template <std::integral T>
constexpr std::optional<T> checkedAdd(T a, T b)
{
    T out{};
    if (__builtin_add_overflow(a, b, &out))
        return std::nullopt;
    return out;
}

template <std::integral T>
constexpr std::optional<T> checkedMultiply(T a, T b)
{
    T out{};
    if (__builtin_mul_overflow(a, b, &out))
        return std::nullopt;
    return out;
}

/// ceil(a / b) without overflow; b > 0.
constexpr uint64_t divideRoundUp(uint64_t a, uint64_t b)
{
    return a / b + (a % b != 0 ? 1 : 0);
}

/// The integer that a number from a file is; empty if it has a fraction or does not fit.
inline std::optional<int64_t> wholeNumber(double number)
{
    constexpr double kLimit = 0x1p63;
    if (!(number >= -kLimit && number < kLimit) || number != std::floor(number))
        return std::nullopt;
    return static_cast<int64_t>(number);
}

} // namespace shardscope
