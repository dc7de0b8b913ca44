// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/folder/reading_state.h"
#include "core/checkpoint/model/fused_experts.h"
#include "core/checkpoint/units/module_reader.h"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace shardscope {

/// How one param group is partitioned. Usually all ranks share it. A group of experts is partitioned once per
/// expert-parallel rank, over the ranks that hold the same experts (deepspeed/utils/groups.py). A family is
/// such a set of ranks.
struct ExpertFamilies {
    uint32_t count = 1; ///< expert-parallel ranks
    uint32_t ranksPerFamily = 1;
    uint32_t rankStride = 1; ///< between the ranks of a family
    bool consecutive = false; ///< use_data_before_expert_parallelism: families one after another
    std::map<std::string, uint32_t, std::less<>>
        localExperts; ///< by ExpertName::before: experts of one family

    [[nodiscard]] uint32_t firstRank(uint32_t family) const
    {
        return consecutive ? family * ranksPerFamily : family;
    }
    /// The name in expert files, which count all experts.
    [[nodiscard]] std::string globalName(std::string_view local, uint32_t family) const;
};

/// One entry per param group, from `partition_count` of the optimizer file. Damaged if the numbers do not
/// divide.
Result<std::vector<ExpertFamilies>> expertFamilies(
    const Reading& reading, FileId optimFile, const ShapeLists& shapes, const FusedExperts& fused);

/// Whether there are mixture-of-experts layers. `num_experts` records it. If the model file lost that key,
/// the names of parameters and param groups show it.
bool holdsExperts(const Reading& reading);

/// Reads the files of experts: each expert has one of its own (layer_L_expert_X_…, engine.py,
/// _save_moe_checkpoint).
Status readExpertFiles(Reading& reading);

} // namespace shardscope
