// SPDX-License-Identifier: Apache-2.0
#include "core/tensor/dtype.h"
#include "tests/support/places.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

using namespace shardscope;

namespace {

struct Pattern {
    DType dtype;
    uint16_t bits;
    double value;
};

/// What torch says, from tests/data/dtypes/narrow_floats.tsv.
std::vector<Pattern> torchsPatterns()
{
    std::ifstream file(sourceFolder() + "/tests/data/dtypes/narrow_floats.tsv");
    std::vector<Pattern> patterns;
    std::string name;
    std::string bits;
    std::string value;
    while (file >> name >> bits >> value) {
        const auto dtype = dtypeFromName(name);
        REQUIRE(dtype);
        const double number = value == "nan"
            ? NAN
            : std::bit_cast<float>(static_cast<uint32_t>(std::stoul(value, nullptr, 16)));
        patterns.push_back({*dtype, static_cast<uint16_t>(std::stoul(bits, nullptr, 16)), number});
    }
    REQUIRE(patterns.size() > 1500);
    return patterns;
}

std::string textOf(DType dtype, uint64_t bits)
{
    uint8_t bytes[16] = {};
    std::memcpy(bytes, &bits, sizeof bits);
    return elementAsText(dtype, bytes);
}

double numberOf(DType dtype, uint64_t bits)
{
    uint8_t bytes[16] = {};
    std::memcpy(bytes, &bits, sizeof bits);
    return elementAsDouble(dtype, bytes);
}

} // namespace

TEST_CASE("narrow floats have the values that torch gives them")
{
    for (const Pattern& pattern : torchsPatterns()) {
        CAPTURE(dtypeName(pattern.dtype));
        CAPTURE(pattern.bits);
        const double value = numberOf(pattern.dtype, pattern.bits);
        if (std::isnan(pattern.value)) {
            CHECK(std::isnan(value));
            CHECK(textOf(pattern.dtype, pattern.bits) == "nan");
        } else {
            CHECK(std::bit_cast<uint64_t>(value) == std::bit_cast<uint64_t>(pattern.value));
        }
    }
}

TEST_CASE("the text of a narrow float is parsed back to the same value")
{
    for (const Pattern& pattern : torchsPatterns()) {
        if (!std::isfinite(pattern.value))
            continue;
        CAPTURE(dtypeName(pattern.dtype));
        CAPTURE(pattern.bits);
        const std::string text = textOf(pattern.dtype, pattern.bits);
        const double read = std::stod(text);
        CHECK(std::signbit(read) == std::signbit(pattern.value));
        const double away = std::fabs(read - pattern.value);
        const unsigned patterns = itemSize(pattern.dtype) == 1 ? 256 : 65536;
        double nearest = INFINITY;
        for (unsigned other = 0; other < patterns; other += 1) {
            const double value = numberOf(pattern.dtype, other);
            if (std::isfinite(value) && value != pattern.value)
                nearest = std::min(nearest, std::fabs(read - value));
        }
        CHECK(away < nearest);
    }
    CHECK(textOf(DType::BFloat16, 0x3DCD) == "0.1");
    CHECK(textOf(DType::Float16, 0x3555) == "0.3333");
    CHECK(textOf(DType::Float16, 0x7C00) == "inf");
    CHECK(textOf(DType::Float16, 0xFC00) == "-inf");
    CHECK(textOf(DType::Float16, 0x8000) == "-0");
}

TEST_CASE("wide numbers print in the shortest exact form")
{
    CHECK(textOf(DType::Float32, std::bit_cast<uint32_t>(0.1f)) == "0.1");
    CHECK(textOf(DType::Float64, std::bit_cast<uint64_t>(0.1)) == "0.1");
    CHECK(textOf(DType::Float64, std::bit_cast<uint64_t>(-HUGE_VAL)) == "-inf");
    CHECK(textOf(DType::Int64, 0x8000000000000000u) == "-9223372036854775808");
    CHECK(textOf(DType::UInt64, ~uint64_t{0}) == "18446744073709551615");
    CHECK(textOf(DType::Int8, 0x80) == "-128");
    CHECK(textOf(DType::UInt8, 0x80) == "128");
    CHECK(textOf(DType::UInt32, 0xFFFFFFFFu) == "4294967295");
    CHECK(textOf(DType::Bool, 1) == "True");
    CHECK(textOf(DType::Bool, 0) == "False");
    CHECK(textOf(DType::Complex32, 0xBC003C00u) == "(1-1j)");
    CHECK(textOf(DType::Complex64, uint64_t{std::bit_cast<uint32_t>(2.0f)} << 32) == "(0+2j)");
    CHECK(numberOf(DType::Int16, 0xFFFE) == -2);
}

TEST_CASE("names and storage classes lead to their dtype and back")
{
    for (int i = 1; i <= static_cast<int>(DType::Float8E8M0); ++i) {
        const auto dtype = static_cast<DType>(i);
        CHECK(dtypeFromName(dtypeName(dtype)) == dtype);
        if (!storageClassOf(dtype).empty())
            CHECK(dtypeFromStorageClass(storageClassOf(dtype)) == dtype);
    }
    CHECK(!dtypeFromName("unknown"));
    CHECK(!dtypeFromStorageClass(""));
    CHECK(dtypeFromStorageClass("UntypedStorage") == DType::UInt8);
    CHECK(storageClassOf(DType::UInt16).empty());
    CHECK(isFloatingPoint(DType::BFloat16));
    CHECK(isFloatingPoint(DType::Float8E4M3));
    CHECK(!isFloatingPoint(DType::Complex64));
    CHECK(!isFloatingPoint(DType::Int8));
    CHECK(itemSize(DType::Complex128) == 16);
    CHECK(itemSize(DType::Unknown) == 1);
}
