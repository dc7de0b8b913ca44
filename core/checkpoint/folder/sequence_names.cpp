// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/folder/sequence_names.h"

#include "core/checkpoint/model/file_names.h"

#include <algorithm>
#include <utility>

namespace shardscope {

uint32_t sequenceRanksInNames(const std::vector<CheckpointFile>& files)
{
    std::vector<std::pair<uint32_t, uint32_t>> ranks; // data-parallel, and the other number
    uint32_t last = 0;
    for (const CheckpointFile& file : files) {
        const auto parsed = parseCheckpointFileName(file.name);
        if (!parsed)
            continue;
        if (parsed->role == FileRole::OptimStates || parsed->zero3Model)
            ranks.emplace_back(parsed->dp, parsed->mp);
        else if (parsed->mp > 0)
            return 1; // only slices and stages have several files without the data-parallel rank
        last = std::max(last, parsed->mp);
    }
    const bool isSo = std::all_of(ranks.begin(), ranks.end(),
        [&](const auto& rank) { return rank.second == rank.first % (uint64_t{last} + 1); });
    return isSo && last < UINT32_MAX ? last + 1 : 1;
}

bool countsSequenceRanks(int64_t degrees, int64_t slices, int64_t dataRanks)
{
    return slices > 0 && degrees > slices && degrees % slices == 0 && dataRanks % (degrees / slices) == 0;
}

} // namespace shardscope
