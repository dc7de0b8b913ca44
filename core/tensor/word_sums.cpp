// SPDX-License-Identifier: Apache-2.0
#include "core/tensor/word_sums.h"

#include "core/tensor/digest_weights.h"

#include <cstring>

// A function for one instruction set can only inline code that is compiled for the same set, so all is
// force-inlined.
#define SHARDSCOPE_INLINE [[gnu::always_inline]] inline

namespace shardscope {

namespace {

constexpr size_t kBlock = size_t{1} << 20; ///< words; a lane's sums of 32-bit halves stay far below 2^64

__extension__ using Wide = unsigned __int128;

/// N words side by side.
template <class Word, size_t N>
struct Vector {
    using Type [[gnu::vector_size(N * sizeof(Word))]] = Word;
};

/// Number or vector, changed in place: a vector given by value would make the call depend on the instruction
/// set.
template <class Value>
SHARDSCOPE_INLINE void mix(Value& z)
{
    z ^= z >> 30;
    z *= 0xBF58476D1CE4E5B9u;
    z ^= z >> 27;
    z *= 0x94D049BB133111EBu;
    z ^= z >> 31;
}

/// Of the two halves of a digest.
struct Sums {
    Wide low = 0;
    uint64_t high = 0;
};

template <class Word, size_t N>
SHARDSCOPE_INLINE void sumBlock(
    const DigestKey& key, uint64_t first, uint64_t step, std::span<const uint8_t> block, Sums& sums)
{
    const uint8_t* const data = block.data();
    const size_t count = block.size() / sizeof(Word);
    using Lanes = typename Vector<uint64_t, N>::Type;
    using Words = typename Vector<Word, N>::Type;
    Lanes walk0{};
    Lanes walk1{};
    for (size_t lane = 0; lane < N; ++lane) {
        walk0[lane] = key.words[0] + (first + lane * step) * kDigestGolden;
        walk1[lane] = key.words[1] + (first + lane * step) * kDigestGolden;
    }
    Lanes lowHalves{};
    Lanes highHalves{};
    Lanes highs{};
    size_t i = 0;
    for (; i + N <= count; i += N) {
        Words words{};
        std::memcpy(&words, data + i * sizeof(Word), sizeof(Words));
        const Lanes values = __builtin_convertvector(words, Lanes);
        Lanes term = walk0 ^ values;
        mix(term);
        lowHalves += term & 0xFFFFFFFFu;
        highHalves += term >> 32;
        term = walk1 ^ values;
        mix(term);
        highs += term;
        walk0 += N * step * kDigestGolden;
        walk1 += N * step * kDigestGolden;
    }
    for (size_t lane = 0; i < count; ++i, ++lane) {
        Word value{};
        std::memcpy(&value, data + i * sizeof(Word), sizeof(Word));
        uint64_t term = walk0[lane] ^ value;
        mix(term);
        sums.low += term;
        term = walk1[lane] ^ value;
        mix(term);
        sums.high += term;
    }
    for (size_t lane = 0; lane < N; ++lane) {
        sums.low += lowHalves[lane] + (static_cast<Wide>(highHalves[lane]) << 32U);
        sums.high += highs[lane];
    }
}

template <class Word, size_t N>
SHARDSCOPE_INLINE Digest sumAs(
    const DigestKey& key, uint64_t first, uint64_t step, std::span<const uint8_t> bytes)
{
    Sums sums;
    const size_t words = bytes.size() / sizeof(Word);
    for (size_t begin = 0; begin < words; begin += kBlock) {
        const size_t count = words - begin < kBlock ? words - begin : kBlock;
        const auto block = bytes.subspan(begin * sizeof(Word), count * sizeof(Word));
        sumBlock<Word, N>(key, first + begin * step, step, block, sums);
    }
    return {static_cast<uint64_t>(sums.low), sums.high + static_cast<uint64_t>(sums.low >> 64U),
        DigestVersion::One};
}

/// N: words at a time
template <size_t N>
SHARDSCOPE_INLINE Digest sumAny(
    const DigestKey& key, uint32_t wordBytes, uint64_t first, uint64_t step, std::span<const uint8_t> bytes)
{
    switch (wordBytes) {
    case 1:
        return sumAs<uint8_t, N>(key, first, step, bytes);
    case 2:
        return sumAs<uint16_t, N>(key, first, step, bytes);
    case 4:
        return sumAs<uint32_t, N>(key, first, step, bytes);
    default:
        return sumAs<uint64_t, N>(key, first, step, bytes);
    }
}

#if defined(__x86_64__)
[[gnu::target("avx2")]] Digest sumWithAvx2(
    const DigestKey& key, uint32_t wordBytes, uint64_t first, uint64_t step, std::span<const uint8_t> bytes)
{
    return sumAny<4>(key, wordBytes, first, step, bytes);
}
#endif

} // namespace

Digest sumWordsPlainly(
    const DigestKey& key, uint32_t wordBytes, uint64_t first, std::span<const uint8_t> bytes)
{
    return sumAny<2>(key, wordBytes, first, 1, bytes);
}

Digest sumWords(const DigestKey& key, uint32_t wordBytes, uint64_t first, std::span<const uint8_t> bytes)
{
    return sumSteppedWords(key, wordBytes, first, 1, bytes);
}

Digest sumSteppedWords(
    const DigestKey& key, uint32_t wordBytes, uint64_t first, uint64_t step, std::span<const uint8_t> bytes)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2"))
        return sumWithAvx2(key, wordBytes, first, step, bytes);
#endif
    return sumAny<2>(key, wordBytes, first, step, bytes);
}

} // namespace shardscope
