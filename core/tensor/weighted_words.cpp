// SPDX-License-Identifier: Apache-2.0
#include "core/tensor/weighted_words.h"

#include "core/tensor/digest_weights.h"

#include <algorithm>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace shardscope {

namespace {

constexpr size_t kWordBytes = 4;
/// One block of weights: 16 KiB for both lanes, within a first-level cache.
constexpr size_t kBlockWords = kDigestBlockWords;
constexpr size_t kGroup = 8; ///< words in a vector

struct Weights {
    std::array<std::array<uint64_t, kBlockWords>, 2> lanes{};
    /// The same for vectors: of each group of words first those with even numbers, then the odd ones.
    alignas(64) std::array<std::array<uint64_t, kBlockWords>, 2> paired{};
};

const Weights& weights()
{
    static const Weights kWeights = [] {
        Weights out;
        for (uint64_t lane = 0; lane < out.lanes.size(); ++lane) {
            for (uint64_t j = 0; j < kBlockWords; ++j) {
                const uint64_t weight = digestWordWeight(j, lane);
                out.lanes[lane][j] = weight;
                const uint64_t inGroup = j % kGroup;
                out.paired[lane][j - inGroup + inGroup / 2 + (inGroup % 2) * kGroup / 2] = weight;
            }
        }
        return out;
    }();
    return kWeights;
}

/// Adds `count` whole words, numbers `first`, first + 1, … of a block.
void addPlainly(const Weights& table, size_t first, const uint8_t* data, size_t count, LaneSums& sums)
{
    for (size_t i = 0; i < count; ++i) {
        uint32_t word = 0;
        std::memcpy(&word, data + i * kWordBytes, kWordBytes);
        sums.lanes[0] += table.lanes[0][first + i] * word;
        sums.lanes[1] += table.lanes[1][first + i] * word;
    }
}

#if defined(__x86_64__)
/// Two 64-bit products of a 64-bit weight and a 32-bit word as sums of their two partial products.
struct VectorLane {
    __m256i low{};
    __m256i high{};
};

[[gnu::target("avx2"), gnu::always_inline]] inline void addProducts(
    VectorLane& lane, const uint64_t* weights, __m256i evenWords, __m256i oddWords)
{
    const __m256i even = _mm256_load_si256(reinterpret_cast<const __m256i*>(weights));
    const __m256i odd = _mm256_load_si256(reinterpret_cast<const __m256i*>(weights + kGroup / 2));
    lane.low = _mm256_add_epi64(lane.low, _mm256_mul_epu32(even, evenWords));
    lane.high = _mm256_add_epi64(lane.high, _mm256_mul_epu32(_mm256_srli_epi64(even, 32), evenWords));
    lane.low = _mm256_add_epi64(lane.low, _mm256_mul_epu32(odd, oddWords));
    lane.high = _mm256_add_epi64(lane.high, _mm256_mul_epu32(_mm256_srli_epi64(odd, 32), oddWords));
}

[[gnu::target("avx2"), gnu::always_inline]] inline uint64_t totalOf(const VectorLane& lane)
{
    const __m256i sum = _mm256_add_epi64(lane.low, _mm256_slli_epi64(lane.high, 32));
    alignas(32) std::array<uint64_t, 4> parts{};
    _mm256_store_si256(reinterpret_cast<__m256i*>(parts.data()), sum);
    return parts[0] + parts[1] + parts[2] + parts[3];
}

/// `first` and `count` are multiples of kGroup.
[[gnu::target("avx2")]] void addGroups(
    const Weights& table, size_t first, const uint8_t* data, size_t count, LaneSums& sums)
{
    VectorLane lane0;
    VectorLane lane1;
    for (size_t i = 0; i < count; i += kGroup) {
        const __m256i even = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(data + i * kWordBytes));
        const __m256i odd = _mm256_srli_epi64(even, 32);
        addProducts(lane0, table.paired[0].data() + first + i, even, odd);
        addProducts(lane1, table.paired[1].data() + first + i, even, odd);
    }
    sums.lanes[0] += totalOf(lane0);
    sums.lanes[1] += totalOf(lane1);
}
#endif

void addWords(
    const Weights& table, bool vectors, size_t first, const uint8_t* data, size_t count, LaneSums& sums)
{
#if defined(__x86_64__)
    if (vectors && count >= 2 * kGroup) {
        const size_t head = (kGroup - first % kGroup) % kGroup;
        const size_t whole = (count - head) / kGroup * kGroup;
        addPlainly(table, first, data, head, sums);
        addGroups(table, first + head, data + head * kWordBytes, whole, sums);
        const size_t done = head + whole;
        addPlainly(table, first + done, data + done * kWordBytes, count - done, sums);
        return;
    }
#else
    (void)vectors;
#endif
    addPlainly(table, first, data, count, sums);
}

/// The words of one block: `firstByte` is a place in it.
LaneSums weighBlock(const Weights& table, bool vectors, size_t firstByte, std::span<const uint8_t> bytes)
{
    LaneSums sums;
    const auto addSplit = [&](size_t word, size_t shift, std::span<const uint8_t> part) {
        uint32_t value = 0;
        for (size_t i = 0; i < part.size(); ++i)
            value |= uint32_t{part[i]} << (8 * (shift + i));
        sums.lanes[0] += table.lanes[0][word] * value;
        sums.lanes[1] += table.lanes[1][word] * value;
    };
    size_t word = firstByte / kWordBytes;
    if (const size_t shift = firstByte % kWordBytes; shift != 0) {
        const size_t part = std::min(kWordBytes - shift, bytes.size());
        addSplit(word++, shift, bytes.first(part));
        bytes = bytes.subspan(part);
    }
    const size_t whole = bytes.size() / kWordBytes;
    addWords(table, vectors, word, bytes.data(), whole, sums);
    if (const auto rest = bytes.subspan(whole * kWordBytes); !rest.empty())
        addSplit(word + whole, 0, rest);
    return sums;
}

LaneSums weigh(bool vectors, uint64_t firstByte, std::span<const uint8_t> bytes)
{
    constexpr uint64_t kBlockBytes = kBlockWords * kWordBytes;
    const Weights& table = weights();
    LaneSums sums;
    while (!bytes.empty()) {
        const uint64_t block = firstByte / kBlockBytes;
        const size_t inBlock = firstByte % kBlockBytes;
        const size_t count = std::min<uint64_t>(kBlockBytes - inBlock, bytes.size());
        const LaneSums part = weighBlock(table, vectors, inBlock, bytes.first(count));
        for (uint64_t lane = 0; lane < sums.lanes.size(); ++lane)
            sums.lanes[lane] += digestBlockWeight(block, lane) * part.lanes[lane];
        firstByte += count;
        bytes = bytes.subspan(count);
    }
    return sums;
}

bool hasVectors()
{
#if defined(__x86_64__)
    return __builtin_cpu_supports("avx2");
#else
    return false;
#endif
}

} // namespace

LaneSums weighWords(uint64_t firstByte, std::span<const uint8_t> bytes)
{
    return weigh(hasVectors(), firstByte, bytes);
}

LaneSums weighWordsPlainly(uint64_t firstByte, std::span<const uint8_t> bytes)
{
    return weigh(false, firstByte, bytes);
}

LaneSums weighSteppedElements(
    uint64_t firstByte, uint64_t stepBytes, uint32_t itemBytes, std::span<const uint8_t> bytes)
{
    const Weights& table = weights();
    LaneSums sums;
    for (; !bytes.empty(); bytes = bytes.subspan(itemBytes), firstByte += stepBytes) {
        const size_t parts = std::max<size_t>(itemBytes / kWordBytes, 1);
        for (size_t part = 0; part < parts; ++part) {
            uint32_t word = 0;
            std::memcpy(&word, bytes.data() + part * kWordBytes, std::min<size_t>(itemBytes, kWordBytes));
            word <<= 8 * (firstByte % kWordBytes);
            const uint64_t number = firstByte / kWordBytes + part;
            for (uint64_t lane = 0; lane < sums.lanes.size(); ++lane)
                sums.lanes[lane] += table.lanes[lane][number % kBlockWords]
                    * digestBlockWeight(number / kBlockWords, lane) * word;
        }
    }
    return sums;
}

Digest digestOfSums(const DigestKey& key, const LaneSums& sums, uint64_t elements)
{
    const auto lane
        = [&](size_t l) { return (key.words[l] | 1u) * sums.lanes[l] + key.words[2 + l] * elements; };
    return {lane(0), lane(1), DigestVersion::Two};
}

} // namespace shardscope
