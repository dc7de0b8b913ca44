// SPDX-License-Identifier: Apache-2.0
#include "ui/models/parameters/parameter_index.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>

namespace shardscope::ui {

namespace {

char lowered(char byte)
{
    return byte >= 'A' && byte <= 'Z' ? static_cast<char>(byte - 'A' + 'a') : byte == '\0' ? '\x01' : byte;
}

/// Stored bytes of one parameter's elements in all states of its unit.
uint64_t unitItemBytes(const FlatUnit& unit)
{
    uint64_t bytes = 0;
    for (const UnitState& state : unit.states)
        bytes += itemSize(state.dtype);
    return bytes;
}

} // namespace

std::shared_ptr<const ParameterIndex> ParameterIndex::build(
    CheckpointPtr checkpoint, const std::stop_token& token)
{
    auto made = std::make_shared<ParameterIndex>();
    made->m_checkpoint = std::move(checkpoint);
    const std::vector<Parameter>& params = made->m_checkpoint->params;
    size_t total = 0;
    for (const Parameter& param : params)
        total += param.name.size() + 1;
    made->m_names.reserve(total);
    made->m_nameStarts.reserve(params.size() + 1);
    for (const Parameter& param : params) {
        made->m_nameStarts.push_back(made->m_names.size());
        for (const char byte : param.name)
            made->m_names += lowered(byte);
        made->m_names += '\0';
    }
    made->m_nameStarts.push_back(made->m_names.size());
    made->collectFacts();
    if (token.stop_requested())
        return nullptr;
    (void)made->order(ParamColumn::Name);
    return made;
}

void ParameterIndex::collectFacts()
{
    const Checkpoint& checkpoint = *m_checkpoint;
    m_facts.resize(checkpoint.params.size());
    std::unordered_map<std::string, uint16_t> known;
    const auto setOf = [&](const std::string& text) {
        const auto [entry, added] = known.try_emplace(text, static_cast<uint16_t>(m_stateSets.size()));
        if (added)
            m_stateSets.push_back(text);
        return entry->second;
    };
    std::vector<std::string> unitText(checkpoint.units.size());
    std::vector<uint64_t> unitBytes(checkpoint.units.size());
    for (size_t i = 0; i < checkpoint.units.size(); ++i) {
        for (const UnitState& state : checkpoint.units[i].states)
            unitText[i] += (unitText[i].empty() ? "" : ", ") + state.name;
        unitBytes[i] = unitItemBytes(checkpoint.units[i]);
    }
    for (size_t i = 0; i < checkpoint.params.size(); ++i) {
        const Parameter& param = checkpoint.params[i];
        ParamFacts& facts = m_facts[i];
        std::string states;
        if (param.unit != kNoUnit) {
            const FlatUnit& unit = checkpoint.units[index(param.unit)];
            states = unitText[index(param.unit)];
            facts.bytes = unitBytes[index(param.unit)] * param.elements;
            if (!unit.states.empty())
                facts.dtype = unit.states.front().dtype;
        }
        facts.states = setOf(states);
    }
    for (const WholeTensor& whole : checkpoint.whole) {
        if (whole.param == kNoParam)
            continue;
        const Parameter& param = checkpoint.params[index(whole.param)];
        ParamFacts& facts = m_facts[index(whole.param)];
        facts.dtype = whole.dtype;
        if (param.sharedWith == kNoParam)
            facts.bytes += itemSize(whole.dtype) * param.elements;
        const std::string before = m_stateSets[facts.states];
        facts.states = setOf(before.empty() ? whole.state : before + ", " + whole.state);
    }
    for (size_t i = 0; i < checkpoint.params.size(); ++i) {
        const ParamId owner = checkpoint.params[i].sharedWith;
        if (owner != kNoParam && m_facts[i].dtype == DType::Unknown) {
            m_facts[i].dtype = m_facts[index(owner)].dtype;
            m_facts[i].states = m_facts[index(owner)].states;
        }
        m_maxBytes = std::max(m_maxBytes, m_facts[i].bytes);
    }
}

const std::vector<uint32_t>& ParameterIndex::order(ParamColumn column) const
{
    const auto at = static_cast<size_t>(column);
    std::call_once(m_orderOnce[at], [&] { m_orders[at] = makeOrder(column); });
    return m_orders[at];
}

std::vector<uint32_t> ParameterIndex::makeOrder(ParamColumn column) const
{
    const std::vector<Parameter>& params = m_checkpoint->params;
    std::vector<uint32_t> rows(params.size());
    if (column == ParamColumn::Name) {
        std::iota(rows.begin(), rows.end(), 0U);
        std::sort(rows.begin(), rows.end(), [&](uint32_t a, uint32_t b) {
            const int relation = lowerName(a).compare(lowerName(b));
            return relation != 0 ? relation < 0 : a < b;
        });
        return rows;
    }
    std::vector<uint64_t> keys(params.size());
    if (column == ParamColumn::Shape) {
        // By number of dimensions, then by the dimensions themselves; done by comparing, not by keys.
        rows = order(ParamColumn::Name);
        std::stable_sort(rows.begin(), rows.end(), [&](uint32_t a, uint32_t b) {
            const Shape& left = params[a].shape;
            const Shape& right = params[b].shape;
            return left.size() != right.size() ? left.size() < right.size() : left < right;
        });
        return rows;
    }
    for (size_t i = 0; i < params.size(); ++i) {
        switch (column) {
        case ParamColumn::Elements:
            keys[i] = params[i].elements;
            break;
        case ParamColumn::Bytes:
            keys[i] = m_facts[i].bytes;
            break;
        case ParamColumn::DType:
            keys[i] = static_cast<uint64_t>(m_facts[i].dtype);
            break;
        case ParamColumn::Kind:
            keys[i] = static_cast<uint64_t>(params[i].role) * 2 + (params[i].sharedWith != kNoParam ? 1 : 0);
            break;
        case ParamColumn::Group:
            keys[i] = static_cast<uint64_t>(int64_t{params[i].group} + 1);
            break;
        default:
            keys[i] = m_facts[i].states;
            break;
        }
    }
    rows = order(ParamColumn::Name);
    std::stable_sort(rows.begin(), rows.end(), [&](uint32_t a, uint32_t b) { return keys[a] < keys[b]; });
    return rows;
}

} // namespace shardscope::ui
