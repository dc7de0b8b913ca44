// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>

/// Narrow floating-point types by their bits. Rounding is to nearest, ties to even, as in PyTorch's c10/util
/// (BFloat16.h, Half.h, Float8_e4m3fn.h, Float8_e5m2.h): that decides how values beyond the range are
/// converted and which pattern NaN has.
namespace shardscope {

/// NaN is always 0x7FC0.
constexpr uint16_t toBFloat16(uint32_t bits)
{
    if ((bits & 0x7FFFFFFFu) > 0x7F800000u)
        return 0x7FC0;
    return static_cast<uint16_t>((bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16);
}

/// A finite magnitude in a format with `Shift` bits of mantissa less than float32 and the smallest normal
/// number `Smallest`. `Magic` is the float with a last bit equal to the step of the format's denormals:
/// adding it rounds to that step. `Rebias` is the difference of the exponents, at its place in a float32. All
/// as bits.
template <uint32_t Shift, uint32_t Smallest, uint32_t Magic, uint32_t Rebias>
constexpr uint32_t roundedMagnitude(uint32_t magnitude)
{
    if (magnitude < Smallest) {
        const float shifted = std::bit_cast<float>(magnitude) + std::bit_cast<float>(Magic);
        return std::bit_cast<uint32_t>(shifted) - Magic;
    }
    const uint32_t odd = (magnitude >> Shift) & 1u;
    return (magnitude - Rebias + ((1u << (Shift - 1)) - 1) + odd) >> Shift;
}

constexpr uint16_t toFloat16(uint32_t bits)
{
    const uint32_t sign = (bits >> 16) & 0x8000u;
    const uint32_t magnitude = bits & 0x7FFFFFFFu;
    if (magnitude > 0x7F800000u) // quiet, with the upper bits of its payload, as processors do it
        return static_cast<uint16_t>(sign | 0x7E00u | ((magnitude >> 13) & 0x3FFu));
    if (magnitude >= 0x477FF000u) // halfway between 65504 and 65536, and above
        return static_cast<uint16_t>(sign | 0x7C00u);
    return static_cast<uint16_t>( // 2^-14, 0.5
        sign | roundedMagnitude<13, 0x38800000u, 0x3F000000u, 0x38000000u>(magnitude));
}

/// No infinity: values above 448 become 448, as in PyTorch 2.15; earlier ones made it NaN. NaN is 0x7F.
constexpr uint8_t toFloat8E4M3(uint32_t bits)
{
    const uint32_t sign = (bits >> 24) & 0x80u;
    const uint32_t magnitude = bits & 0x7FFFFFFFu;
    if (magnitude > 0x7F800000u)
        return static_cast<uint8_t>(sign | 0x7Fu);
    if (magnitude >= 0x43E00000u) // 448
        return static_cast<uint8_t>(sign | 0x7Eu);
    return static_cast<uint8_t>( // 2^-6, 2^14
        sign | roundedMagnitude<20, 0x3C800000u, 0x46800000u, 0x3C000000u>(magnitude));
}

/// Infinity is 0x7C, NaN 0x7F.
constexpr uint8_t toFloat8E5M2(uint32_t bits)
{
    const uint32_t sign = (bits >> 24) & 0x80u;
    const uint32_t magnitude = bits & 0x7FFFFFFFu;
    if (magnitude >= 0x47800000u) // 65536
        return static_cast<uint8_t>(sign | (magnitude > 0x7F800000u ? 0x7Fu : 0x7Cu));
    return static_cast<uint8_t>( // 2^-14, 2^7
        sign | roundedMagnitude<21, 0x38800000u, 0x43000000u, 0x38000000u>(magnitude));
}

constexpr uint32_t fromBFloat16(uint16_t bits)
{
    return uint32_t{bits} << 16;
}

constexpr uint32_t fromFloat16(uint16_t half)
{
    const uint32_t sign = (half & 0x8000u) << 16;
    const uint32_t magnitude = half & 0x7FFFu;
    if (magnitude >= 0x7C00u) // NaN becomes quiet
        return sign | 0x7F800000u | (magnitude > 0x7C00u ? 0x400000u : 0u) | ((magnitude & 0x3FFu) << 13);
    if (magnitude >= 0x400u)
        return sign | ((magnitude << 13) + 0x38000000u);
    return sign | std::bit_cast<uint32_t>(static_cast<float>(magnitude) * 0x1p-24F);
}

constexpr uint32_t fromFloat8E4M3(uint8_t bits)
{
    const uint32_t sign = (bits & 0x80u) << 24;
    const uint32_t magnitude = bits & 0x7Fu;
    if (magnitude == 0x7Fu)
        return sign | 0x7FF00000u; // as torch widens it
    if (magnitude >= 8u)
        return sign | ((magnitude << 20) + 0x3C000000u);
    return sign | std::bit_cast<uint32_t>(static_cast<float>(magnitude) * 0x1p-9F);
}

/// The upper half of a float16.
constexpr uint32_t fromFloat8E5M2(uint8_t bits)
{
    return fromFloat16(static_cast<uint16_t>(bits << 8));
}

} // namespace shardscope
