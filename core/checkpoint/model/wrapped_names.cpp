// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/model/wrapped_names.h"

#include "core/checkpoint/model/checkpoint.h"

#include <algorithm>
#include <array>
#include <vector>

namespace shardscope {

namespace {

constexpr std::array<std::string_view, 2> kWrappers{"_checkpoint_wrapped_module", "_orig_mod"};

std::vector<std::string_view> partsOf(std::string_view name)
{
    std::vector<std::string_view> out;
    while (true) {
        const size_t dot = name.find('.');
        out.push_back(name.substr(0, dot));
        if (dot == std::string_view::npos)
            return out;
        name.remove_prefix(dot + 1);
    }
}

std::string joined(const std::vector<std::string_view>& parts)
{
    std::string out;
    for (size_t i = 0; i < parts.size(); ++i)
        out += (i > 0 ? "." : "") + std::string(parts[i]);
    return out;
}

bool isWrapper(std::string_view part)
{
    return std::find(kWrappers.begin(), kWrappers.end(), part) != kWrappers.end();
}

} // namespace

std::string withoutWrappers(std::string_view name)
{
    const bool wrapped = std::ranges::any_of(
        kWrappers, [&](std::string_view part) { return name.find(part) != std::string_view::npos; });
    if (!wrapped)
        return std::string(name);
    std::vector<std::string_view> parts = partsOf(name);
    std::erase_if(parts, isWrapper);
    return joined(parts);
}

std::string withoutAdapterName(std::string_view name)
{
    std::string plain = withoutWrappers(name);
    if (plain.find("lora_") == std::string::npos && plain.find("modules_to_save") == std::string::npos)
        return plain;
    std::vector<std::string_view> parts = partsOf(plain);
    for (size_t i = 0; i + 1 < parts.size(); ++i) {
        if (parts[i].starts_with("lora_")) {
            parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(i) + 1);
        } else if (parts[i] == "modules_to_save") {
            const auto at = parts.begin() + static_cast<std::ptrdiff_t>(i);
            parts.erase(at, at + 2);
        }
    }
    return joined(parts);
}

std::string stateDictName(const Checkpoint& checkpoint, ParamId param)
{
    const std::string& recorded = checkpoint.params[index(param)].name;
    std::string plain = withoutWrappers(recorded);
    const auto listed = checkpoint.paramByName.find(plain);
    return listed != checkpoint.paramByName.end() && listed->second == param ? plain : recorded;
}

} // namespace shardscope
