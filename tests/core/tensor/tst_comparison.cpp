// SPDX-License-Identifier: Apache-2.0
#include "core/tensor/comparison.h"

#include "core/tensor/convert.h"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

using namespace shardscope;

namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
const float kNan = std::nanf("");

std::vector<uint8_t> bytesOf(const std::vector<float>& values)
{
    std::vector<uint8_t> out(values.size() * 4);
    std::memcpy(out.data(), values.data(), out.size());
    return out;
}

Comparison compared(
    const std::vector<float>& left, const std::vector<float>& right, const Tolerance& tolerance = {})
{
    const std::vector<uint8_t> one = bytesOf(left);
    const std::vector<uint8_t> other = bytesOf(right);
    return plainComparison({DType::Float32, one}, {DType::Float32, other}, 100, tolerance);
}

std::vector<float> randomValues(size_t count, unsigned seed)
{
    std::mt19937 random(seed);
    std::vector<float> out(count);
    for (float& value : out)
        value = std::normal_distribution<float>()(random);
    return out;
}

} // namespace

TEST_CASE("equal values compare equal, also NaN with the same bits")
{
    auto values = randomValues(5000, 1);
    values[7] = kNan;
    values[8] = kInf;
    const Comparison found = compared(values, values);
    CHECK(found.areEqual());
    CHECK(found.elements == 5000);
    CHECK(found.firstDifferent == Comparison::kNone);
    CHECK(found.relativeL2() == 0);
    CHECK(found.cosine().value() == doctest::Approx(1));
}

TEST_CASE("differences are counted, placed and measured as plain loops do")
{
    const auto left = randomValues(5000, 1);
    auto right = left;
    for (size_t i = 3000; i < 3100; ++i)
        right[i] += 0.25F;
    right[4000] = std::nextafter(right[4000], kInf);
    const Comparison found = compared(left, right);
    CHECK(found.different == 101);
    CHECK(found.lastBit == 1);
    CHECK(found.firstDifferent == 3100);
    long double apart = 0;
    long double a = 0;
    long double b = 0;
    long double both = 0;
    double most = 0;
    for (size_t i = 0; i < left.size(); ++i) {
        const long double l = left[i];
        const long double r = right[i];
        apart += (l - r) * (l - r);
        a += l * l;
        b += r * r;
        both += l * r;
        most = std::max(most, std::abs(static_cast<double>(left[i]) - static_cast<double>(right[i])));
    }
    CHECK(found.maxAbsolute == most);
    CHECK(found.relativeL2()
        == doctest::Approx(std::sqrt(static_cast<double>(apart / std::max(a, b)))).epsilon(1e-12));
    CHECK(found.cosine().value()
        == doctest::Approx(static_cast<double>(both / std::sqrt(a) / std::sqrt(b))).epsilon(1e-12));
    const Comparison wide = compared(left, right, {.absolute = 0.5});
    CHECK(wide.different == 101);
    CHECK(wide.beyond == 0);
    CHECK(compared(left, right, {.absolute = 0.01}).beyond == 100);
    CHECK(compared({100.0F}, {101.0F}, {.relative = 0.009}).beyond == 1);
    CHECK(compared({100.0F}, {101.0F}, {.relative = 0.01}).beyond == 0);
}

TEST_CASE("zeros of two signs are neighbours, NaN and infinity are not finite")
{
    const Comparison zeros = compared({0.0F}, {-0.0F});
    CHECK(zeros.different == 1);
    CHECK(zeros.lastBit == 1);
    CHECK(zeros.maxAbsolute == 0);
    CHECK(zeros.beyond == 1); // without a tolerance bits decide, as in a digest
    CHECK(compared({0.0F}, {-0.0F}, {.absolute = 1e-9}).beyond == 0);
    const Comparison odd = compared({kNan, kInf, 1, kInf}, {1, 1, kInf, -kInf});
    CHECK(odd.different == 4);
    CHECK(odd.notFinite == 4);
    CHECK(odd.notFiniteLeft == 3);
    CHECK(odd.notFiniteRight == 2);
    CHECK(odd.beyond == 4);
    const float otherNan = std::bit_cast<float>(0x7FC00001u);
    const Comparison payload = compared({kNan}, {otherNan});
    CHECK(payload.different == 1);
    CHECK(payload.beyond == 1);
    const Comparison tolerant = compared({kNan, kInf}, {otherNan, -kInf}, {.relative = 1e-9});
    CHECK(tolerant.different == 2);
    CHECK(tolerant.beyond == 1); // NaN is still NaN
    CHECK(!compared({0.0F}, {1.0F}).cosine());
}

TEST_CASE("merged pieces give the whole")
{
    const auto left = randomValues(4096, 1);
    const auto right = randomValues(4096, 2);
    const Comparison whole = compared(left, right);
    Comparison combined
        = compared({left.begin(), left.begin() + 1000}, {right.begin(), right.begin() + 1000});
    const std::vector<uint8_t> leftRest = bytesOf({left.begin() + 1000, left.end()});
    const std::vector<uint8_t> rightRest = bytesOf({right.begin() + 1000, right.end()});
    combined += plainComparison({DType::Float32, leftRest}, {DType::Float32, rightRest}, 1100, {});
    CHECK(combined.different == whole.different);
    CHECK(combined.firstDifferent == whole.firstDifferent);
    CHECK(combined.maxAbsolute == whole.maxAbsolute);
    CHECK(combined.relativeL2() == doctest::Approx(whole.relativeL2()).epsilon(1e-12));
}

TEST_CASE("two dtypes by their values")
{
    const auto wide = randomValues(3000, 3);
    std::vector<uint8_t> narrow(6000);
    const std::vector<uint8_t> wideBytes = bytesOf(wide);
    convertElements(DType::Float32, wideBytes, DType::BFloat16, narrow);
    std::vector<uint8_t> rounded(12000);
    convertElements(DType::BFloat16, narrow, DType::Float32, rounded);
    CHECK(plainComparison({DType::BFloat16, narrow}, {DType::Float32, rounded}, 0, {}).areEqual());
    const Comparison found = plainComparison({DType::Float32, wideBytes}, {DType::BFloat16, narrow}, 0, {});
    CHECK(found.different > 2900);
    CHECK(found.lastBit == found.different); // they differ by rounding only
    CHECK(found.maxAbsolute < 0.02);
    const std::vector<uint8_t> zero(4, 0);
    const std::vector<uint8_t> negative{0, 0x80};
    CHECK(plainComparison({DType::Float32, zero}, {DType::BFloat16, negative}, 0, {}).beyond == 1);
    CHECK(canCompare(DType::Float32, DType::Float16));
    CHECK(canCompare(DType::Complex64, DType::Complex64));
    CHECK(!canCompare(DType::Complex64, DType::Float32));
    const std::vector<uint8_t> one(8, 1);
    std::vector<uint8_t> other = one;
    other[3] = 9;
    CHECK(plainComparison({DType::Complex64, one}, {DType::Complex64, other}, 0, {}).beyond == 1);
}

TEST_CASE("neighbours in the narrow floats")
{
    for (const DType dtype : {DType::Float16, DType::BFloat16}) {
        const std::vector<uint16_t> left{0x3C00, 0x3C00, 0x8000, 0x0001};
        const std::vector<uint16_t> right{0x3C01, 0x3C02, 0x0001, 0x8001};
        std::vector<uint8_t> a(8);
        std::vector<uint8_t> b(8);
        std::memcpy(a.data(), left.data(), 8);
        std::memcpy(b.data(), right.data(), 8);
        const Comparison found = plainComparison({dtype, a}, {dtype, b}, 0, {});
        CHECK(found.different == 4);
        CHECK(found.lastBit == 2);
    }
}

TEST_CASE("integers have no last bit")
{
    const std::vector<int64_t> left{7, 8, 9};
    const std::vector<int64_t> right{6, 8, 10};
    const auto bytesOf = [](const std::vector<int64_t>& values) {
        return TypedBytes{
            DType::Int64, {reinterpret_cast<const uint8_t*>(values.data()), values.size() * sizeof(int64_t)}};
    };
    const Comparison found = plainComparison(bytesOf(left), bytesOf(right), 0, {});
    CHECK(found.different == 2);
    CHECK(found.lastBit == 0);
}
