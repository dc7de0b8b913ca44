// SPDX-License-Identifier: Apache-2.0
#include "core/base/checked.h"
#include "core/partition/flat_partition.h"

#include <limits>

namespace shardscope {

namespace {

uint64_t saturatingAdd(uint64_t a, uint64_t b)
{
    return checkedAdd(a, b).value_or(std::numeric_limits<uint64_t>::max());
}

} // namespace

std::vector<SubGroupRange> splitIntoSubGroups(
    std::span<const uint64_t> paramElements, uint32_t ranks, uint64_t subGroupSize)
{
    std::vector<SubGroupRange> ranges;
    if (paramElements.empty())
        return ranges;
    const auto count = static_cast<uint32_t>(paramElements.size());

    uint64_t total = 0;
    for (const uint64_t elements : paramElements)
        total = saturatingAdd(total, divideRoundUp(elements, ranks));
    if (subGroupSize >= total)
        return {{0, count}};

    uint32_t begin = 0;
    uint64_t sum = 0;
    for (uint32_t param = 0; param < count; ++param) {
        sum = saturatingAdd(sum, divideRoundUp(paramElements[param], ranks));
        if (sum >= subGroupSize || param + 1 == count) {
            ranges.push_back({begin, param + 1});
            begin = param + 1;
            sum = 0;
        }
    }
    return ranges;
}

} // namespace shardscope
