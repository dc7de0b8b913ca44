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

/// The dtype's value nearest to `value`, found by trying all; of two the one whose last bit is 0.
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

TEST_CASE("float32 goes to the nearest bfloat16 and float16, ties to even")
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

TEST_CASE("beyond the range comes infinity, and NaN stays NaN")
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

TEST_CASE("every 16-bit value goes to float32 and back")
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
    CHECK(!canConvert(DType::Int64, DType::Float32));
    CHECK(!canConvert(DType::Float64, DType::Float32));
    CHECK(elementOf(DType::Float32, 5.0) == std::vector<uint8_t>{0, 0, 0xA0, 0x40});
    CHECK(elementOf(DType::Int64, -2.0)
        == std::vector<uint8_t>{0xFE, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF});
    CHECK(!elementOf(DType::Int8, 128.0));
    CHECK(!elementOf(DType::Int64, 9.3e18));
    CHECK(!elementOf(DType::UInt8, std::nan("")));
    CHECK(!elementOf(DType::Complex64, 1.0));
}
