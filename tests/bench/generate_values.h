// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/bench/generated_model.h"

#include <span>

namespace shardscope::bench {

/// What an element of a state is, so that a test can compute it again:
///
///     m = seed + 0x9E3779B1·(p + 1) + 0x85EBCA77·(s + 1) + 0xC2B2AE3D·e   (mod 2^32)
///     m = m xor (m >> 15)
///     the float32 with the bits 0x3D000000 | (m >> 9): from 0.03125 to 0.0625
///
/// p is the parameter's place in the module (GeneratedModel::params), s is 0 for the master weight, 1 for
/// exp_avg, 2 for exp_avg_sq, e the element of the flattened parameter. The 16-bit weight is the master
/// rounded to nearest even. Padding is zero.
enum class GeneratedState : uint32_t { Master, ExpAvg, ExpAvgSq };

/// Bytes [begin, begin + out.size()) of one rank's flat float32 partition; multiples of 4.
void fillPartition(const GeneratedUnit& unit, uint32_t rank, GeneratedState state, uint32_t seed,
    uint64_t begin, std::span<uint8_t> out);

/// The same of the group's whole flat bfloat16 vector (ZeRO-1/2), padding included; multiples of 2.
void fillWeights(const GeneratedUnit& unit, uint32_t seed, uint64_t begin, std::span<uint8_t> out);

} // namespace shardscope::bench
