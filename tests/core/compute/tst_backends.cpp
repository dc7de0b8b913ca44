// SPDX-License-Identifier: Apache-2.0
// Statistics and comparisons: counts and extremes to the bit, sums within what their headers allow.
#include "tests/core/compute/backends.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <thread>

using namespace shardscope;
using namespace shardscope::test;

namespace {

constexpr double kBound = 1e-12; // as statistics.h and comparison.h state it

/// `scale`: the tolerance is relative to it, for example the sum of magnitudes.
bool near(double meant, double found, double scale)
{
    return meant == found || std::abs(meant - found) <= kBound * scale;
}

void checkStatistics(const ComputeBackend& backend, DType dtype, const std::vector<uint8_t>& bytes)
{
    ValueHistogram meantBins;
    ValueHistogram foundBins;
    const Statistics meant = plainStatistics(dtype, bytes, &meantBins);
    const Statistics found = backend.statistics(dtype, bytes, &foundBins);
    CHECK(meant.elements == found.elements);
    CHECK(meant.zeros == found.zeros);
    CHECK(meant.nans == found.nans);
    CHECK(meant.infinities == found.infinities);
    CHECK(meant.min == found.min);
    CHECK(meant.max == found.max);
    const auto n = static_cast<double>(std::max<uint64_t>(1, meant.finite()));
    CHECK(near(meant.mean * n, found.mean * n, meant.magnitudes));
    CHECK(near(meant.squares, found.squares, meant.squares));
    CHECK(near(meant.magnitudes, found.magnitudes, meant.magnitudes));
    CHECK(near(meant.squaredDeviations, found.squaredDeviations, meant.squares));
    const auto meantOctaves = meantBins.octaves();
    const auto foundOctaves = foundBins.octaves();
    REQUIRE(meantOctaves.size() == foundOctaves.size());
    for (size_t i = 0; i < meantOctaves.size(); ++i) {
        CHECK(meantOctaves[i].exponent == foundOctaves[i].exponent);
        CHECK(meantOctaves[i].count == foundOctaves[i].count);
    }
    if (meant.min <= meant.max) {
        const auto meantBars = meantBins.bars(meant.min, meant.max, 100);
        const auto foundBars = foundBins.bars(meant.min, meant.max, 100);
        CHECK(meantBars.counts == foundBars.counts);
    }
    CHECK(backend.statistics(dtype, bytes, nullptr).zeros == meant.zeros);
}

void checkComparison(const ComputeBackend& backend, DType left, const std::vector<uint8_t>& a, DType right,
    const std::vector<uint8_t>& b, const Tolerance& tolerance)
{
    const Comparison meant = plainComparison({left, a}, {right, b}, 1000, tolerance);
    const Comparison found = backend.comparison({left, a}, {right, b}, 1000, tolerance);
    CHECK(meant.elements == found.elements);
    CHECK(meant.different == found.different);
    CHECK(meant.beyond == found.beyond);
    CHECK(meant.lastBit == found.lastBit);
    CHECK(meant.notFinite == found.notFinite);
    CHECK(meant.notFiniteLeft == found.notFiniteLeft);
    CHECK(meant.notFiniteRight == found.notFiniteRight);
    CHECK(meant.firstDifferent == found.firstDifferent);
    CHECK(meant.maxAbsolute == found.maxAbsolute);
    const double scale = meant.squaredLeft + meant.squaredRight;
    CHECK(near(meant.squaredDifference, found.squaredDifference, meant.squaredDifference));
    CHECK(near(meant.squaredLeft, found.squaredLeft, meant.squaredLeft));
    CHECK(near(meant.squaredRight, found.squaredRight, meant.squaredRight));
    CHECK(near(meant.product, found.product, scale));
}

/// Bits decide without a tolerance, values with one.
void checkComparison(const ComputeBackend& backend, DType left, const std::vector<uint8_t>& a, DType right,
    const std::vector<uint8_t>& b)
{
    checkComparison(backend, left, a, right, b, {1e-3, 1e-4});
    checkComparison(backend, left, a, right, b, {});
}

/// Random bits make sums infinite in float64; those are not compared.
bool isSummable(DType dtype)
{
    return dtype != DType::Float64;
}

} // namespace

TEST_CASE("statistics equal those of plain code")
{
    std::mt19937_64 random(3);
    for (const BackendPtr& backend : moduleBackends()) {
        CAPTURE(backend->name());
        const auto all = [&](DType dtype) {
            CAPTURE(dtypeName(dtype));
            for (const size_t count : {0, 1, 7, 2048, 2049, 300000})
                checkStatistics(*backend, dtype, normalElements(dtype, count, random));
            if (isSummable(dtype))
                checkStatistics(*backend, dtype, patterns(dtype, random));
        };
        for (const DType dtype : kFloats)
            all(dtype);
        for (const DType dtype : kIntegers)
            all(dtype);
    }
}

TEST_CASE("a tensor of one value, of zeros, of NaN")
{
    for (const BackendPtr& backend : moduleBackends()) {
        CAPTURE(backend->name());
        for (const float value : {0.0F, -0.0F, 3.5F, std::nanf(""), -INFINITY, 1e-42F})
            checkStatistics(*backend, DType::Float32, [&] {
                const std::vector<float> values(5000, value);
                const auto bytes = bytesOf(values);
                return std::vector<uint8_t>(bytes.begin(), bytes.end());
            }());
    }
}

TEST_CASE("NaN of other payloads and zeros of other signs")
{
    const std::vector<uint32_t> left{0x7FC00000, 0x00000000, 0xFFC00000, 0x7F800000, 0x3F800000};
    const std::vector<uint32_t> right{0x7FC10000, 0x80000000, 0x7FC00000, 0x7F800000, 0x3F800000};
    std::vector<uint8_t> a(20);
    std::vector<uint8_t> b(20);
    std::memcpy(a.data(), left.data(), 20);
    std::memcpy(b.data(), right.data(), 20);
    std::vector<uint8_t> narrow(10); // the upper halves: bfloat16
    for (size_t i = 0; i < 5; ++i)
        std::memcpy(narrow.data() + 2 * i, b.data() + 4 * i + 2, 2);
    for (const BackendPtr& backend : moduleBackends()) {
        CAPTURE(backend->name());
        checkComparison(*backend, DType::Float32, a, DType::Float32, b);
        checkComparison(*backend, DType::Float32, a, DType::BFloat16, narrow);
        CHECK(backend->comparison({DType::Float32, a}, {DType::Float32, b}, 0, {}).beyond == 3);
    }
}

TEST_CASE("comparisons equal those of plain code")
{
    std::mt19937_64 random(4);
    for (const BackendPtr& backend : moduleBackends()) {
        CAPTURE(backend->name());
        const auto all = [&](DType left, DType right) {
            CAPTURE(dtypeName(left));
            CAPTURE(dtypeName(right));
            const size_t count = 1 + random() % 300000;
            const auto a = normalElements(left, count, random);
            auto b = normalElements(right, count, random);
            checkComparison(*backend, left, a, right, b);
            if (left == right) {
                b = a;
                checkComparison(*backend, left, a, right, b);
                for (int i = 0; i < 5; ++i)
                    b[random() % b.size()] ^= static_cast<uint8_t>(1 + random() % 255);
                checkComparison(*backend, left, a, right, b);
            }
        };
        for (const DType left : kFloats) {
            for (const DType right : kFloats)
                all(left, right);
        }
        for (const DType dtype : kIntegers)
            all(dtype, dtype);
        for (const DType dtype : kFloats) {
            if (!isSummable(dtype))
                continue;
            const auto a = patterns(dtype, random);
            auto b = a;
            std::rotate(b.begin(), b.begin() + itemSize(dtype), b.end());
            checkComparison(*backend, dtype, a, dtype, b);
        }
    }
}

TEST_CASE("many concurrent threads get the same results as one thread")
{
    std::mt19937_64 random(5);
    const auto bytes = normalElements(DType::BFloat16, 200000, random);
    const Statistics meant = plainStatistics(DType::BFloat16, bytes, nullptr);
    for (const BackendPtr& backend : moduleBackends()) {
        CAPTURE(backend->name());
        std::vector<Statistics> found(8);
        {
            std::vector<std::jthread> threads;
            for (Statistics& one : found)
                threads.emplace_back([&] { one = backend->statistics(DType::BFloat16, bytes, nullptr); });
        }
        for (const Statistics& one : found) {
            CHECK(one.zeros == meant.zeros);
            CHECK(one.max == meant.max);
            CHECK(near(meant.squares, one.squares, meant.squares));
        }
        CHECK(backend->notes().empty());
        const HostMemory memory = backend->hostMemory(size_t{1} << 20);
        REQUIRE(memory);
        std::fill_n(memory.get(), size_t{1} << 20, uint8_t{1});
    }
}
