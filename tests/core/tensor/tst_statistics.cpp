// SPDX-License-Identifier: Apache-2.0
#include "core/tensor/statistics.h"

#include "core/tensor/block_sums.h"
#include "core/tensor/convert.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>

using namespace shardscope;

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

std::vector<uint8_t> bytesOf(const std::vector<double>& values, DType dtype)
{
    std::vector<uint8_t> doubles(values.size() * sizeof(double));
    std::memcpy(doubles.data(), values.data(), doubles.size());
    std::vector<uint8_t> out(values.size() * itemSize(dtype));
    convertElements(DType::Float64, doubles, dtype, out);
    return out;
}

std::vector<double> valuesOf(const std::vector<uint8_t>& bytes, DType dtype)
{
    std::vector<double> out;
    for (size_t at = 0; at < bytes.size(); at += itemSize(dtype))
        out.push_back(elementAsDouble(dtype, bytes.data() + at));
    return out;
}

std::vector<double> randomValues(size_t count, double offset)
{
    std::mt19937_64 random(count);
    std::vector<double> out(count);
    for (double& value : out)
        value = offset + std::normal_distribution<double>()(random);
    return out;
}

bool near(double found, double expected, double scale)
{
    return std::abs(found - expected) <= 1e-12 * scale;
}

} // namespace

TEST_CASE("statistics are what two plain loops in long double find")
{
    for (const DType dtype : {DType::Float64, DType::Float32, DType::Float16, DType::BFloat16,
             DType::Float8E4M3, DType::Float8E5M2}) {
        for (const double offset : {0.0, 3.0, 100.0}) {
            for (const size_t count : {size_t{1}, size_t{7}, size_t{2048}, size_t{2049}, size_t{10000}}) {
                CAPTURE(dtypeName(dtype));
                CAPTURE(offset);
                CAPTURE(count);
                const auto bytes = bytesOf(randomValues(count, offset), dtype);
                const std::vector<double> values = valuesOf(bytes, dtype);
                long double sum = 0;
                long double squares = 0;
                uint64_t zeros = 0;
                for (const double value : values) {
                    sum += value;
                    squares += static_cast<long double>(value) * value;
                    zeros += value == 0 ? 1 : 0;
                }
                const long double mean = sum / static_cast<long double>(count);
                long double deviations = 0;
                for (const double value : values)
                    deviations += (value - mean) * (value - mean);
                const Statistics found = plainStatistics(dtype, bytes, nullptr);
                CHECK(found.elements == count);
                CHECK(found.finite() == count);
                CHECK(found.zeros == zeros);
                CHECK(found.min == *std::min_element(values.begin(), values.end()));
                CHECK(found.max == *std::max_element(values.begin(), values.end()));
                CHECK(near(found.mean, static_cast<double>(mean), 1 + offset));
                CHECK(near(found.squares, static_cast<double>(squares), static_cast<double>(squares)));
                CHECK(near(found.squaredDeviations, static_cast<double>(deviations),
                    static_cast<double>(deviations) + 1));
            }
        }
    }
}

TEST_CASE("merged pieces give the whole")
{
    const auto bytes = bytesOf(randomValues(5000, 7), DType::Float32);
    const Statistics whole = plainStatistics(DType::Float32, bytes, nullptr);
    for (const size_t cut : {size_t{0}, size_t{1}, size_t{2500}, size_t{5000}}) {
        Statistics combined = plainStatistics(DType::Float32, std::span(bytes).first(cut * 4), nullptr);
        combined += plainStatistics(DType::Float32, std::span(bytes).subspan(cut * 4), nullptr);
        CHECK(combined.elements == 5000);
        CHECK(combined.min == whole.min);
        CHECK(combined.max == whole.max);
        CHECK(near(combined.mean, whole.mean, 8));
        CHECK(near(combined.std(), whole.std(), 1));
        CHECK(near(combined.l2(), whole.l2(), whole.l2()));
    }
}

TEST_CASE("NaN and infinities are counted and stay out of the sums")
{
    std::vector<double> values(3000, 2.0);
    values[5] = std::numeric_limits<double>::quiet_NaN();
    values[2999] = kInf;
    values[2100] = -kInf;
    values[2101] = -0.0;
    ValueHistogram histogram;
    const Statistics found = plainStatistics(DType::Float32, bytesOf(values, DType::Float32), &histogram);
    CHECK(found.nans == 1);
    CHECK(found.infinities == 2);
    CHECK(found.zeros == 1);
    CHECK(found.finite() == 2997);
    CHECK(found.min == 0);
    CHECK(found.max == 2);
    CHECK(near(found.squares, 2996 * 4.0, 1e4));
    const auto bars = histogram.bars(found.min, found.max, 4);
    uint64_t sum = 0;
    for (const uint64_t count : bars.counts)
        sum += count;
    CHECK(sum == 2997);
    const Statistics none = plainStatistics(DType::Float32, bytesOf({kInf}, DType::Float32), nullptr);
    CHECK(std::isnan(none.std()));
    CHECK(none.min == kInf);
}

TEST_CASE("integers and truth values")
{
    const std::vector<int64_t> values{3, -5, 0, 7};
    std::vector<uint8_t> bytes(32);
    std::memcpy(bytes.data(), values.data(), 32);
    const Statistics found = plainStatistics(DType::Int64, bytes, nullptr);
    CHECK(found.min == -5);
    CHECK(found.max == 7);
    CHECK(found.mean == 1.25);
    CHECK(found.zeros == 1);
    const std::vector<uint8_t> truth{1, 0, 2};
    CHECK(plainStatistics(DType::Bool, truth, nullptr).max == 1);
    CHECK(!hasStatistics(DType::Complex64));
    CHECK(!hasStatistics(DType::Unknown));
}

TEST_CASE("bars hold every finite value once, between edges that ascend")
{
    for (const double offset : {0.0, 5.0, -300.0}) {
        auto values = randomValues(20000, offset);
        values[0] = 0;
        const auto bytes = bytesOf(values, DType::Float32);
        values = valuesOf(bytes, DType::Float32);
        ValueHistogram histogram;
        const Statistics found = plainStatistics(DType::Float32, bytes, &histogram);
        for (const uint32_t atMost : {1u, 2u, 10u, 64u, 1000u}) {
            const auto bars = histogram.bars(found.min, found.max, atMost);
            CAPTURE(offset);
            CAPTURE(atMost);
            REQUIRE(bars.edges.size() == bars.counts.size() + 1);
            CHECK(bars.counts.size() <= atMost);
            CHECK(bars.counts.size() * 2 >= std::min(atMost, 32u));
            CHECK(bars.edges.front() == found.min);
            CHECK(bars.edges.back() == found.max);
            uint64_t sum = 0;
            for (size_t i = 0; i < bars.counts.size(); ++i) {
                CHECK(bars.edges[i] < bars.edges[i + 1]);
                const bool last = i + 1 == bars.counts.size();
                uint64_t expected = 0;
                for (const double value : values) {
                    // A negative bin holds the magnitude it begins with, and not the one it ends with.
                    const bool above
                        = value > bars.edges[i] || (value == bars.edges[i] && (value >= 0 || i == 0));
                    const bool below
                        = value < bars.edges[i + 1] || (value == bars.edges[i + 1] && (last || value < 0));
                    expected += above && below ? 1 : 0;
                }
                CHECK(bars.counts[i] == expected);
                sum += bars.counts[i];
            }
            CHECK(sum == values.size());
        }
    }
}

TEST_CASE("octaves by the exponent")
{
    ValueHistogram histogram;
    histogram.add(std::vector<double>{1, 1.5, -1.75, 2, 0.5, 0, -0.0, kInf, std::nan("")});
    std::vector<std::pair<int, uint64_t>> found;
    for (const auto& octave : histogram.octaves())
        found.emplace_back(octave.exponent, octave.count);
    CHECK(found == std::vector<std::pair<int, uint64_t>>{{-127, 2}, {-1, 1}, {0, 3}, {1, 1}});
}

TEST_CASE("wide vectors of a processor make the same bits of a block's sums")
{
    std::mt19937_64 random(7);
    std::normal_distribution<double> normal;
    for (const size_t size : {0U, 1U, 7U, 8U, 9U, 31U, 32U, 100U, 2047U, 2048U}) {
        CAPTURE(size);
        std::vector<double> values(size);
        for (double& value : values)
            value = random() % 5 == 0 ? 0.0 : normal(random);
        if (size > 2)
            values[2] = -0.0;
        const BlockSums wide = sumBlock(values);
        const BlockSums plain = sumBlockPlainly(values);
        CHECK(wide.values == plain.values);
        CHECK(wide.squares == plain.squares);
        CHECK(wide.magnitudes == plain.magnitudes);
        CHECK(wide.low == plain.low);
        CHECK(wide.high == plain.high);
        CHECK(wide.zeros == plain.zeros);
        CHECK(sumSquaredDeviations(values, 0.25) == sumSquaredDeviationsPlainly(values, 0.25));
        CHECK(std::accumulate(plain.zeros.begin(), plain.zeros.end(), int64_t{0})
            == std::count(values.begin(), values.end(), 0.0));
        if (size > 0) {
            CHECK(*std::min_element(wide.low.begin(), wide.low.end())
                == *std::min_element(values.begin(), values.end()));
            CHECK(*std::max_element(wide.high.begin(), wide.high.end())
                == *std::max_element(values.begin(), values.end()));
        }
    }
}
