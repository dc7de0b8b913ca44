// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/model/checkpoint.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace shardscope {

/// The number of an expert in a parameter's name: `….deepspeed_experts.NUMBER.…` (deepspeed/moe/experts.py).
/// Optimizer files and param_shapes count from 0 on every expert-parallel rank; expert files count all
/// experts.
struct ExpertName {
    std::string_view before; ///< up to the number
    uint32_t number = 0;
    std::string_view after;

    [[nodiscard]] std::string renumbered(uint32_t to) const
    {
        return std::string(before) + std::to_string(to) + std::string(after);
    }
};
/// The `name` of a param group of experts: this, then the expert-parallel degree
/// (deepspeed/moe/utils.py, split_params_into_different_moe_groups_for_optimizer).
inline constexpr std::string_view kExpertGroupPrefix = "ep_size_";

/// Nothing if the name is not an expert's.
std::optional<ExpertName> parseExpertName(std::string_view name);

/// Whether the run had use_data_before_expert_parallelism on, according to model or optimizer files.
bool familiesAreConsecutive(const Checkpoint& checkpoint);

/// The names that the ranks of a unit use for its parameters: each rank counts its experts from 0. Points
/// into the checkpoint.
class LocalNames
{
public:
    LocalNames(const Checkpoint& checkpoint, const FlatUnit& unit);
    [[nodiscard]] std::string of(ParamId param) const;

private:
    const Checkpoint& m_checkpoint;
    std::map<std::string_view, uint32_t> m_first; ///< by ExpertName::before
};

} // namespace shardscope
