// SPDX-License-Identifier: Apache-2.0
#include "core/plan/export/export.h"
#include "core/tensor/convert.h"

#include <algorithm>
#include <array>

namespace shardscope {

namespace {

struct Cast {
    std::string_view name;
    DType dtype;
};
constexpr std::array<Cast, 5> kCasts{{{"fp32", DType::Float32}, {"bf16", DType::BFloat16},
    {"fp16", DType::Float16}, {"fp8_e4m3", DType::Float8E4M3}, {"fp8_e5m2", DType::Float8E5M2}}};

} // namespace

std::vector<std::string> castNames()
{
    std::vector<std::string> out;
    for (const Cast& cast : kCasts) {
        if (canConvert(DType::Float32, cast.dtype))
            out.emplace_back(cast.name);
    }
    return out;
}

std::optional<DType> castFromName(std::string_view name)
{
    const auto known
        = std::find_if(kCasts.begin(), kCasts.end(), [&](const Cast& cast) { return cast.name == name; });
    return known == kCasts.end() || !canConvert(DType::Float32, known->dtype) ? std::nullopt
                                                                              : std::optional(known->dtype);
}

std::string_view castName(std::optional<DType> dtype)
{
    const auto known
        = std::find_if(kCasts.begin(), kCasts.end(), [&](const Cast& cast) { return dtype == cast.dtype; });
    return known == kCasts.end() ? std::string_view("keep") : known->name;
}

} // namespace shardscope
