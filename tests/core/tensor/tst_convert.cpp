// SPDX-License-Identifier: Apache-2.0
#include "core/tensor/convert.h"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

using namespace shardscope;

namespace {

template <class Out, class In>
Out convertOne(DType from, DType to, In value)
{
    Out out{};
    std::vector<uint8_t> bytes(sizeof value);
    std::memcpy(bytes.data(), &value, sizeof value);
    std::vector<uint8_t> made(sizeof out);
    convertElements(from, bytes, to, made);
    std::memcpy(&out, made.data(), sizeof out);
    return out;
}

/// The dtype's value nearest to `value`, found by trying all; in a tie the one with last bit 0.
uint16_t nearestByTrying(DType dtype, float value)
{
    uint16_t best = 0;
    double bestDistance = std::numeric_limits<double>::infinity();
    for (uint32_t bits = 0; bits < 0x8000; ++bits) {
        const auto half = static_cast<uint16_t>(bits);
        uint8_t bytes[2];
        std::memcpy(bytes, &half, 2);
        const double candidate = elementAsDouble(dtype, bytes);
        if (!std::isfinite(candidate))
            break;
        const double distance = std::abs(candidate - std::abs(static_cast<double>(value)));
        if (distance < bestDistance || (distance == bestDistance && half % 2 == 0)) {
            best = half;
            bestDistance = distance;
        }
    }
    return static_cast<uint16_t>(best | (std::signbit(value) ? 0x8000 : 0));
}

std::vector<float> interesting()
{
    std::vector<float> out{0.0F, -0.0F, 1.0F, -1.0F, 1.00390625F, 1.01171875F, 65503.0F, 65504.0F, 6.1e-5F,
        6.103515625e-05F, 5.96e-8F, 2.98e-8F, 2.9802322387695312e-08F, 2.99e-8F, 1e-10F, 3.0e38F, 1.0e-38F,
        1.0009765625F, 1.00048828125F, 1.00146484375F};
    std::mt19937 random(7);
    for (int i = 0; i < 60; ++i)
        out.push_back(std::ldexp(
            std::uniform_real_distribution<float>(-1, 1)(random), static_cast<int>(random() % 40) - 26));
    return out;
}

} // namespace

TEST_CASE("float32 rounds to the nearest bfloat16 and float16, ties to even")
{
    for (const float value : interesting()) {
        CAPTURE(value);
        CHECK(convertOne<uint16_t>(DType::Float32, DType::BFloat16, value)
            == nearestByTrying(DType::BFloat16, value));
        if (std::abs(value) <= 65504)
            CHECK(convertOne<uint16_t>(DType::Float32, DType::Float16, value)
                == nearestByTrying(DType::Float16, value));
    }
}

TEST_CASE("values out of range become infinity, and NaN stays NaN")
{
    constexpr float kInf = std::numeric_limits<float>::infinity();
    CHECK(convertOne<uint16_t>(DType::Float32, DType::Float16, 65519.0F) == 0x7BFF);
    CHECK(convertOne<uint16_t>(DType::Float32, DType::Float16, 65520.0F) == 0x7C00);
    CHECK(convertOne<uint16_t>(DType::Float32, DType::Float16, -1e30F) == 0xFC00);
    CHECK(convertOne<uint16_t>(DType::Float32, DType::BFloat16, 3.4e38F) == 0x7F80);
    CHECK(convertOne<uint16_t>(DType::Float32, DType::BFloat16, -kInf) == 0xFF80);
    CHECK(convertOne<uint16_t>(DType::Float32, DType::BFloat16, std::bit_cast<float>(0x7F800001U)) == 0x7FC0);
    CHECK(convertOne<uint16_t>(DType::Float32, DType::Float16, std::bit_cast<float>(0xFF800001U)) == 0xFE00);
}

TEST_CASE("every 16-bit value converts to float32 and back")
{
    for (const DType dtype : {DType::Float16, DType::BFloat16}) {
        for (uint32_t bits = 0; bits < 0x10000; ++bits) {
            const auto half = static_cast<uint16_t>(bits);
            const auto wide = convertOne<float>(dtype, DType::Float32, half);
            if (std::isnan(wide))
                continue;
            uint8_t bytes[2];
            std::memcpy(bytes, &half, 2);
            CHECK(static_cast<double>(wide) == elementAsDouble(dtype, bytes));
            CHECK(convertOne<uint16_t>(DType::Float32, dtype, wide) == half);
        }
    }
}

TEST_CASE("only pairs that are known convert, and numbers that fit become elements")
{
    CHECK(canConvert(DType::Int64, DType::Int64));
    CHECK(canConvert(DType::BFloat16, DType::Float16));
    CHECK(!canConvert(DType::Float32, DType::Int32));
    CHECK(!canConvert(DType::Float32, DType::Complex64));
    CHECK(elementOf(DType::Float32, 5.0) == std::vector<uint8_t>{0, 0, 0xA0, 0x40});
    CHECK(elementOf(DType::Int64, -2.0)
        == std::vector<uint8_t>{0xFE, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF});
    CHECK(!elementOf(DType::Int8, 128.0));
    CHECK(!elementOf(DType::Int64, 9.3e18));
    CHECK(!elementOf(DType::UInt8, std::nan("")));
    CHECK(!elementOf(DType::Complex64, 1.0));
}

TEST_CASE("float8: the nearest of all patterns, ties to even, values out of range as in torch")
{
    for (const DType dtype : {DType::Float8E4M3, DType::Float8E5M2}) {
        std::vector<double> values; // by pattern, those of positive finite numbers ascend
        for (unsigned bits = 0; bits < 0x80; ++bits) {
            const auto byte = static_cast<uint8_t>(bits);
            const double value = elementAsDouble(dtype, &byte);
            if (!std::isfinite(value))
                break;
            values.push_back(value);
            CHECK(convertOne<float>(dtype, DType::Float32, byte) == value);
            CHECK(convertOne<uint8_t>(DType::Float32, dtype, static_cast<float>(value)) == byte);
            CHECK(convertOne<uint8_t>(DType::Float32, dtype, static_cast<float>(-value)) == (byte | 0x80));
        }
        for (size_t i = 0; i + 1 < values.size(); ++i) {
            const auto middle = static_cast<float>((values[i] + values[i + 1]) / 2); // exact
            CAPTURE(middle);
            CHECK(convertOne<uint8_t>(DType::Float32, dtype, middle) == i + i % 2);
            CHECK(convertOne<uint8_t>(DType::Float32, dtype, std::nextafter(middle, 0.0F)) == i);
            CHECK(convertOne<uint8_t>(DType::Float32, dtype, std::nextafter(middle, 1e30F)) == i + 1);
        }
    }
    constexpr float kInf = std::numeric_limits<float>::infinity();
    const auto e4m3
        = [](float value) { return convertOne<uint8_t>(DType::Float32, DType::Float8E4M3, value); };
    const auto e5m2
        = [](float value) { return convertOne<uint8_t>(DType::Float32, DType::Float8E5M2, value); };
    CHECK(e4m3(447.9F) == 0x7E);
    CHECK(e4m3(449.0F) == 0x7E);
    CHECK(e4m3(480.0F) == 0x7E);
    CHECK(e4m3(kInf) == 0x7E);
    CHECK(e4m3(-1e9F) == 0xFE);
    CHECK(e4m3(std::nanf("")) == 0x7F);
    CHECK(e5m2(61439.0F) == 0x7B);
    CHECK(e5m2(61440.0F) == 0x7C);
    CHECK(e5m2(-kInf) == 0xFC);
    CHECK(e5m2(std::nanf("")) == 0x7F);
}

TEST_CASE("float64 and integers")
{
    CHECK(convertOne<float>(DType::Float64, DType::Float32, 0.1) == 0.1F);
    CHECK(convertOne<double>(DType::BFloat16, DType::Float64, uint16_t{0x3F80}) == 1.0);
    CHECK(convertOne<uint16_t>(DType::Float64, DType::BFloat16, 1.0) == 0x3F80);
    CHECK(convertOne<float>(DType::Int64, DType::Float32, int64_t{16777217}) == 16777216.0F);
    CHECK(convertOne<uint16_t>(DType::Int8, DType::Float16, int8_t{-2}) == 0xC000);
    CHECK(convertOne<int8_t>(DType::Int64, DType::Int8, int64_t{0x1FF}) == -1);
    CHECK(convertOne<int64_t>(DType::Int16, DType::Int64, int16_t{-3}) == -3);
    CHECK(convertOne<uint8_t>(DType::Int64, DType::Bool, int64_t{256}) == 1);
    CHECK(convertOne<float>(DType::Bool, DType::Float32, uint8_t{1}) == 1.0F);
    CHECK(!canConvert(DType::Float32, DType::Int64));
    CHECK(!canConvert(DType::Complex64, DType::Float32));
    CHECK(canConvert(DType::Complex64, DType::Complex64));
}
