// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/universal/universal.h"

#include <algorithm>

namespace shardscope {

namespace {

/// Which group lists each of `count` entries by its number, if the groups list all of them exactly once. The
/// groups of a ZeRO-3 source list its sub-groups.
std::optional<std::vector<uint32_t>> ownersByKey(const std::vector<GroupEntry>& groups, size_t count)
{
    std::vector<uint32_t> owners(count, static_cast<uint32_t>(groups.size()));
    size_t listed = 0;
    for (uint32_t g = 0; g < groups.size(); ++g) {
        for (const int64_t key : groups[g].stateKeys) {
            const bool fits = key >= 0 && static_cast<uint64_t>(key) < count;
            if (!fits || owners[static_cast<size_t>(key)] != groups.size())
                return std::nullopt;
            owners[static_cast<size_t>(key)] = g;
            ++listed;
        }
    }
    return listed == count ? std::optional(std::move(owners)) : std::nullopt;
}

} // namespace

GroupPlan planGroups(const PickleGraph* optimizer, size_t shapeLists)
{
    GroupPlan plan;
    if (optimizer != nullptr) {
        const NodeId root = optimizer->root();
        plan.nested = readParamGroups(*optimizer, lookup(*optimizer, root, "optimizer_state_dict"));
        plan.groups = readParamGroups(*optimizer, root);
        if (plan.groups.empty())
            plan.groups = plan.nested;
    }
    const auto owners = ownersByKey(plan.nested.empty() ? plan.groups : plan.nested, shapeLists);
    if (owners && (plan.nested.empty() || plan.nested.size() == plan.groups.size())) {
        plan.ownerOfList = *owners;
    } else if (plan.groups.empty() || plan.groups.size() == shapeLists) {
        plan.groups.resize(shapeLists);
        for (uint32_t i = 0; i < shapeLists; ++i)
            plan.ownerOfList.push_back(i);
    }
    return plan;
}

} // namespace shardscope
