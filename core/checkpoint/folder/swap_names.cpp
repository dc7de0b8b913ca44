// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/folder/swap_names.h"

#include <algorithm>
#include <charconv>
#include <string>

namespace shardscope {

namespace {

constexpr std::string_view kSuffix = ".tensor.swp";
constexpr std::string_view kGradient = "_gradient_";

bool isId(std::string_view text)
{
    return !text.empty() && text.front() != '_' && text.back() != '_'
        && std::all_of(text.begin(), text.end(), [](char c) { return (c >= '0' && c <= '9') || c == '_'; });
}

} // namespace

std::optional<SwapFileName> parseSwapFileName(std::string_view name)
{
    if (!name.ends_with(kSuffix))
        return std::nullopt;
    name.remove_suffix(kSuffix.size());
    if (const size_t gradient = name.find(kGradient); gradient != std::string_view::npos) {
        if (!isId(name.substr(0, gradient)) || !isId(name.substr(gradient + kGradient.size())))
            return std::nullopt;
        return SwapFileName{{}, name.substr(0, gradient), true};
    }
    const size_t dash = name.rfind('-');
    if (dash == std::string_view::npos)
        return isId(name) ? std::optional(SwapFileName{"fp32", name, false}) : std::nullopt;
    if (dash == 0 || !isId(name.substr(dash + 1)))
        return std::nullopt;
    return SwapFileName{name.substr(0, dash), name.substr(dash + 1), false};
}

std::string swapFileName(std::string_view state, std::string_view id)
{
    std::string out = state == "fp32" ? std::string() : std::string(state) + "-";
    out += id;
    out += kSuffix;
    return out;
}

std::vector<uint64_t> swapIdNumbers(std::string_view id)
{
    std::vector<uint64_t> out;
    while (!id.empty()) {
        uint64_t number = 0;
        const auto [end, error] = std::from_chars(id.data(), id.data() + id.size(), number);
        if (error != std::errc())
            return {};
        out.push_back(number);
        id.remove_prefix(static_cast<size_t>(end - id.data()));
        if (!id.empty() && id.front() != '_')
            return {};
        if (!id.empty())
            id.remove_prefix(1);
    }
    return out;
}

} // namespace shardscope
