// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/compute/cuda/tiles.h"
#include "core/tensor/digest_weights.h"
#include "core/tensor/float_bits.h"

#include <bit>
#include <cstdint>

/// One element at a time, for a GPU's thread or its twin on the host. NaN is converted by its bits, because a
/// GPU's own conversions do not keep its payload.
namespace shardscope::compute {

#ifdef __CUDACC__
#define SHARDSCOPE_ON_GPU __device__
#else
#define SHARDSCOPE_ON_GPU inline
#endif

template <class T>
SHARDSCOPE_ON_GPU T loadAs(const uint8_t* elements, uint64_t i)
{
    return reinterpret_cast<const T*>(elements)[i]; // GPU memory is aligned for every dtype
}

template <class T>
SHARDSCOPE_ON_GPU void storeAs(uint8_t* elements, uint64_t i, T value)
{
    reinterpret_cast<T*>(elements)[i] = value;
}

SHARDSCOPE_ON_GPU uint64_t widened(uint32_t bits)
{
    if ((bits & 0x7FFFFFFFu) <= 0x7F800000u)
        return std::bit_cast<uint64_t>(static_cast<double>(std::bit_cast<float>(bits)));
    return uint64_t{bits & 0x80000000u} << 32 | 0x7FF8000000000000u | uint64_t{bits & 0x7FFFFFu} << 29;
}

SHARDSCOPE_ON_GPU uint32_t narrowed(uint64_t bits)
{
    if ((bits & 0x7FFFFFFFFFFFFFFFu) <= 0x7FF0000000000000u)
        return std::bit_cast<uint32_t>(static_cast<float>(std::bit_cast<double>(bits)));
    return static_cast<uint32_t>(bits >> 32 & 0x80000000u) | 0x7FC00000u
        | static_cast<uint32_t>(bits >> 29 & 0x7FFFFFu);
}

/// An element as the bits of a float32; F64 is narrowed.
SHARDSCOPE_ON_GPU uint32_t asFloat32(GpuFloat type, const uint8_t* elements, uint64_t i)
{
    switch (type) {
    case GpuFloat::F64:
        return narrowed(loadAs<uint64_t>(elements, i));
    case GpuFloat::F32:
        return loadAs<uint32_t>(elements, i);
    case GpuFloat::F16:
        return fromFloat16(loadAs<uint16_t>(elements, i));
    case GpuFloat::BF16:
        return fromBFloat16(loadAs<uint16_t>(elements, i));
    case GpuFloat::F8E4M3:
        return fromFloat8E4M3(loadAs<uint8_t>(elements, i));
    default:
        return fromFloat8E5M2(loadAs<uint8_t>(elements, i));
    }
}

SHARDSCOPE_ON_GPU double asDouble(GpuFloat type, const uint8_t* elements, uint64_t i)
{
    if (type == GpuFloat::F64)
        return loadAs<double>(elements, i);
    return static_cast<double>(std::bit_cast<float>(asFloat32(type, elements, i)));
}

SHARDSCOPE_ON_GPU void castElement(const CastTile& tile, uint64_t i)
{
    if (tile.to == GpuFloat::F64) {
        storeAs(tile.out, i,
            tile.from == GpuFloat::F64 ? loadAs<uint64_t>(tile.in, i)
                                       : widened(asFloat32(tile.from, tile.in, i)));
        return;
    }
    const uint32_t bits = asFloat32(tile.from, tile.in, i);
    switch (tile.to) {
    case GpuFloat::F32:
        return storeAs(tile.out, i, bits);
    case GpuFloat::F16:
        return storeAs(tile.out, i, toFloat16(bits));
    case GpuFloat::BF16:
        return storeAs(tile.out, i, toBFloat16(bits));
    case GpuFloat::F8E4M3:
        return storeAs(tile.out, i, toFloat8E4M3(bits));
    default:
        return storeAs(tile.out, i, toFloat8E5M2(bits));
    }
}

SHARDSCOPE_ON_GPU uint64_t wordOf(const SumTile& tile, uint64_t i)
{
    switch (tile.wordBytes) {
    case 1:
        return loadAs<uint8_t>(tile.words, i);
    case 2:
        return loadAs<uint16_t>(tile.words, i);
    case 4:
        return loadAs<uint32_t>(tile.words, i);
    default:
        return loadAs<uint64_t>(tile.words, i);
    }
}

/// Adds part of 32-bit word number `number`, shifted to its place in it.
SHARDSCOPE_ON_GPU void addWord(uint64_t number, uint32_t word, TileSum& sum)
{
    const uint64_t inBlock = number % kDigestBlockWords;
    const uint64_t block = number / kDigestBlockWords;
    for (uint64_t lane = 0; lane < 2; ++lane)
        sum.lanes[lane] += digestWordWeight(inBlock, lane) * digestBlockWeight(block, lane) * word;
}

SHARDSCOPE_ON_GPU void addElement(const SumTile& tile, uint64_t i, TileSum& sum)
{
    uint64_t element = tile.first + i;
    if (tile.rows != 0)
        element = element % tile.rows * tile.columns + element / tile.rows;
    const uint64_t bits = wordOf(tile, i);
    if (tile.wordBytes > 4) {
        addWord(2 * element, static_cast<uint32_t>(bits), sum);
        addWord(2 * element + 1, static_cast<uint32_t>(bits >> 32), sum);
        return;
    }
    const uint64_t perWord = 4 / tile.wordBytes;
    const uint64_t shift = element % perWord * tile.wordBytes * 8;
    addWord(element / perWord, static_cast<uint32_t>(bits << shift), sum);
}

/// The bits of an element as a number that ascends with its value, +0 and -0 being one.
SHARDSCOPE_ON_GPU int64_t ordered(GpuFloat type, const uint8_t* elements, uint64_t i)
{
    uint64_t bits = 0;
    uint32_t sign = 0;
    switch (type) {
    case GpuFloat::F64:
        bits = loadAs<uint64_t>(elements, i);
        sign = 63;
        break;
    case GpuFloat::F32:
        bits = loadAs<uint32_t>(elements, i);
        sign = 31;
        break;
    case GpuFloat::F16:
    case GpuFloat::BF16:
        bits = loadAs<uint16_t>(elements, i);
        sign = 15;
        break;
    default:
        bits = loadAs<uint8_t>(elements, i);
        sign = 7;
        break;
    }
    const auto magnitude = static_cast<int64_t>(bits & ~(uint64_t{1} << sign));
    return (bits >> sign & 1) != 0 ? -magnitude : magnitude;
}

/// Whether the bits of the two are not the same.
SHARDSCOPE_ON_GPU bool differs(GpuFloat type, const uint8_t* left, const uint8_t* right, uint64_t i)
{
    switch (type) {
    case GpuFloat::F64:
        return loadAs<uint64_t>(left, i) != loadAs<uint64_t>(right, i);
    case GpuFloat::F32:
        return loadAs<uint32_t>(left, i) != loadAs<uint32_t>(right, i);
    case GpuFloat::F16:
    case GpuFloat::BF16:
        return loadAs<uint16_t>(left, i) != loadAs<uint16_t>(right, i);
    default:
        return loadAs<uint8_t>(left, i) != loadAs<uint8_t>(right, i);
    }
}

SHARDSCOPE_ON_GPU bool isNan(double value)
{
    return value != value;
}

SHARDSCOPE_ON_GPU bool isFiniteNumber(double value)
{
    return value - value == 0;
}

SHARDSCOPE_ON_GPU double magnitudeOf(double value)
{
    return value < 0 ? -value : value;
}

} // namespace shardscope::compute
