// SPDX-License-Identifier: Apache-2.0

#include "core/checkpoint/folder/zero_stage.h"

#include <array>
#include <utility>

namespace shardscope {

std::optional<int> zeroStageOf(const PickleGraph& graph, NodeId wrapper)
{
    const NodeId stage = lookup(graph, wrapper, "zero_stage");
    if (stage == kNoNode)
        return std::nullopt;
    const auto byName = [](std::string_view name) -> std::optional<int64_t> {
        static constexpr std::array<std::pair<std::string_view, int64_t>, 4> kNames{
            {{"disabled", 0}, {"optimizer_states", 1}, {"gradients", 2}, {"weights", 3}}};
        for (const auto& [known, number] : kNames) {
            if (name == known)
                return number;
        }
        return std::nullopt;
    };
    const auto number = asEnumValue(graph, stage, "deepspeed.runtime.zero.config", "ZeroStageEnum", byName);
    const int64_t value = number.value_or(asInteger(graph, stage).value_or(0));
    return value >= 0 && value <= 3 ? static_cast<int>(value) : 0;
}

} // namespace shardscope
