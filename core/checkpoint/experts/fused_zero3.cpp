// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/experts/fused_zero3.h"

#include "core/base/text.h"
#include "core/checkpoint/model/experts.h"
#include "core/checkpoint/model/optim_states.h"
#include "core/checkpoint/units/unit_states.h"

#include <algorithm>

namespace shardscope {

namespace {

/// Whether a rank's file records these sub-groups for its family. True if the file is missing.
bool agrees(const Reading& reading, const FusedExperts& fused, uint32_t rank, uint32_t subGroup,
    const ExpertFamilies& families)
{
    const TorchFile* content = reading.content(reading.out.optimFiles[rank]);
    if (content == nullptr)
        return true;
    const PickleGraph& graph = content->pickle();
    const auto entries = sequenceItems(graph, lookup(graph, wrapperOf(graph), "ds_zero_partition_groups"));
    if (subGroup >= entries.size())
        return false;
    const auto ranks = sequenceItems(graph, lookup(graph, entries[subGroup], "partition_ranks"));
    const uint32_t family = families.consecutive ? rank / families.ranksPerFamily : rank % families.count;
    if (ranks.size() != families.ranksPerFamily)
        return false;
    for (uint32_t i = 0; i < ranks.size(); ++i) {
        if (asInteger(graph, ranks[i])
            != int64_t{fused.stageRankOf(families.firstRank(family) + i * families.rankStride)})
            return false;
    }
    return true;
}

} // namespace

Result<ExpertFamilies> subGroupFamilies(const Reading& reading, const FusedExperts& fused, uint32_t subGroup,
    const std::vector<NamedShape>& shapes)
{
    const std::string where = reading.out.tagFolder.string();
    ExpertFamilies out;
    out.ranksPerFamily = reading.worldSize;
    if (fused.isEmpty())
        return out;
    const auto isFused = [&](const NamedShape& entry) { return fused.layerOf(entry.name) != nullptr; };
    const bool holds = std::any_of(shapes.begin(), shapes.end(), isFused);
    if (holds && !std::all_of(shapes.begin(), shapes.end(), isFused))
        return fail(ErrorCode::Unsupported,
            "sub-group " + std::to_string(subGroup) + " has experts of AutoEP together with other parameters",
            where);
    if (holds) {
        for (const NamedShape& entry : shapes) {
            if (entry.shape.empty() || entry.shape.front() != fused.layerOf(entry.name)->localExperts)
                return fail(ErrorCode::Damaged,
                    "`" + toValidUtf8(entry.name)
                        + "` does not have the number of experts that `ds_autoep_layers` records",
                    where);
        }
        if (reading.worldSize % fused.families() != 0)
            return fail(ErrorCode::Damaged,
                std::to_string(reading.worldSize) + " ranks do not divide by "
                    + std::to_string(fused.families()) + " expert-parallel ranks",
                where);
        out.count = fused.families();
        out.ranksPerFamily = reading.worldSize / out.count;
        out.consecutive = familiesAreConsecutive(reading.out);
    }
    out.rankStride = out.consecutive ? 1 : out.count;
    for (uint32_t rank = 0; rank < reading.worldSize; ++rank) {
        if (!agrees(reading, fused, rank, subGroup, out))
            return fail(ErrorCode::Unsupported,
                "rank " + std::to_string(rank) + " shares sub-group " + std::to_string(subGroup)
                    + ", but not with the ranks that `ds_autoep_layers` and the configuration record",
                where);
    }
    return out;
}

} // namespace shardscope
