// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/generate_values.h"

#include <algorithm>
#include <cstring>

namespace shardscope::bench {

namespace {

uint32_t baseOf(uint32_t seed, uint32_t param, GeneratedState state)
{
    return seed + 0x9E3779B1U * (param + 1) + 0x85EBCA77U * (static_cast<uint32_t>(state) + 1);
}

uint32_t bitsOf(uint32_t base, uint64_t element)
{
    uint32_t mixed = base + 0xC2B2AE3DU * static_cast<uint32_t>(element);
    mixed ^= mixed >> 15U;
    return 0x3D000000U | (mixed >> 9U);
}

void store(std::span<uint8_t> out, uint64_t at, uint32_t bits)
{
    std::memcpy(out.data() + at, &bits, 4);
}

void store16(std::span<uint8_t> out, uint64_t at, uint32_t bits)
{
    // No NaN among the values, so rounding to nearest even is this addition.
    const auto rounded = static_cast<uint16_t>((bits + 0x7FFFU + ((bits >> 16U) & 1U)) >> 16U);
    std::memcpy(out.data() + at, &rounded, 2);
}

} // namespace

void fillPartition(const GeneratedUnit& unit, uint32_t rank, GeneratedState state, uint32_t seed,
    uint64_t begin, std::span<uint8_t> out)
{
    const uint64_t first = begin / 4;
    unit.partition.forEachPiece(rank, first, first + out.size() / 4, [&](const FlatPiece& piece) {
        const uint64_t at = (piece.flatOffset - first) * 4;
        if (piece.isPadding()) {
            std::memset(out.data() + at, 0, piece.elements * 4);
            return true;
        }
        const uint32_t base = baseOf(seed, unit.params[piece.param], state);
        for (uint64_t i = 0; i < piece.elements; ++i)
            store(out, at + i * 4, bitsOf(base, piece.paramOffset + i));
        return true;
    });
}

void fillWeights(const GeneratedUnit& unit, uint32_t seed, uint64_t begin, std::span<uint8_t> out)
{
    const uint64_t part = unit.partition.partitionElements();
    const uint64_t first = begin / 2;
    const uint64_t end = first + out.size() / 2;
    for (uint64_t at = first; at < end;) {
        const auto rank = static_cast<uint32_t>(at / part);
        const uint64_t rankStart = rank * part;
        const uint64_t stop = std::min(end, rankStart + part);
        unit.partition.forEachPiece(rank, at - rankStart, stop - rankStart, [&](const FlatPiece& piece) {
            const uint64_t to = (rankStart + piece.flatOffset - first) * 2;
            if (piece.isPadding()) {
                std::memset(out.data() + to, 0, piece.elements * 2);
                return true;
            }
            const uint32_t base = baseOf(seed, unit.params[piece.param], GeneratedState::Master);
            for (uint64_t i = 0; i < piece.elements; ++i)
                store16(out, to + i * 2, bitsOf(base, piece.paramOffset + i));
            return true;
        });
        at = stop;
    }
}

} // namespace shardscope::bench
