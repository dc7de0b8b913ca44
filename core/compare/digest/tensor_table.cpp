// SPDX-License-Identifier: Apache-2.0
#include "core/compare/digest/tensor_table.h"

#include <algorithm>

namespace shardscope {

TensorTable::TensorTable(CheckpointPtr checkpoint)
    : m_checkpoint(std::move(checkpoint))
{
    for (const FlatUnit& unit : m_checkpoint->units) {
        m_unitBegin.push_back(m_size);
        m_size += static_cast<uint32_t>(unit.states.size() * unit.params.size());
    }
    m_wholeBegin = m_size;
    m_size += static_cast<uint32_t>(m_checkpoint->whole.size());
}

uint32_t TensorTable::indexOf(ParamId param, uint32_t state) const
{
    const Parameter& p = m_checkpoint->params[index(param)];
    const FlatUnit& unit = m_checkpoint->units[index(p.unit)];
    return m_unitBegin[index(p.unit)] + state * static_cast<uint32_t>(unit.params.size()) + p.indexInUnit;
}

TensorTable::Entry TensorTable::entry(uint32_t number) const
{
    if (number >= m_wholeBegin) {
        const WholeTensor& whole = m_checkpoint->whole[number - m_wholeBegin];
        const bool besideMaster = m_checkpoint->params[index(whole.param)].role == ParamRole::Trainable;
        return {whole.param, whole.state, whole.dtype, !besideMaster};
    }
    const auto next = std::upper_bound(m_unitBegin.begin(), m_unitBegin.end(), number);
    const auto at = static_cast<size_t>(next - m_unitBegin.begin()) - 1;
    const FlatUnit& unit = m_checkpoint->units[at];
    const uint32_t inside = number - m_unitBegin[at];
    const auto count = static_cast<uint32_t>(unit.params.size());
    const UnitState& state = unit.states[inside / count];
    return {unit.params[inside % count], state.name, state.dtype, true, inside < count && unit.group >= 0};
}

} // namespace shardscope
