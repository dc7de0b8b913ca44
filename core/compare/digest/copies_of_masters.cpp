// SPDX-License-Identifier: Apache-2.0
#include "core/compare/digest/copies_of_masters.h"

#include "core/layout/fragments.h"

#include <algorithm>

namespace shardscope {

bool isCopyType(DType dtype)
{
    return dtype == DType::BFloat16 || dtype == DType::Float16;
}

CopiesOfMasters::CopiesOfMasters(const Checkpoint& checkpoint, const TensorTable& table)
    : m_copies(table.size(), kNone)
{
    for (uint32_t i = 0; i < table.size(); ++i) {
        const TensorTable::Entry master = table.entry(i);
        if (master.state != "fp32" || master.dtype != DType::Float32)
            continue;
        const auto copy = findState(checkpoint, master.param, "weight");
        if (!copy || !isCopyType(copy->dtype))
            continue;
        m_copies[i] = copy->whole != nullptr
            ? table.indexOfWhole(static_cast<uint32_t>(copy->whole - checkpoint.whole.data()))
            : table.indexOf(copy->param, copy->stateIndex);
    }
}

std::optional<uint32_t> CopiesOfMasters::copyOf(uint32_t tensor) const
{
    return m_copies[tensor] == kNone ? std::nullopt : std::optional(m_copies[tensor]);
}

std::vector<ParamId> CopiesOfMasters::unlikeCopies(const TensorTable& table, const CheckpointScan& scan) const
{
    std::vector<ParamId> out;
    for (uint32_t i = 0; i < m_copies.size(); ++i) {
        if (const auto copy = copyOf(i); copy && !(scan.rounded[i] == scan.tensors[*copy]))
            out.push_back(table.entry(i).param);
    }
    std::sort(out.begin(), out.end());
    out.erase(std::unique(out.begin(), out.end()), out.end());
    return out;
}

} // namespace shardscope
