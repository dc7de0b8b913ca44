// SPDX-License-Identifier: Apache-2.0
#include "ui/models/parameters/parameter_index.h"

#include "core/base/text.h"
#include "core/layout/model_dtype.h"
#include "core/layout/whole_units.h"

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

/// What the places of a unit's elements are measured by. Tensors of a distributed checkpoint have no padding:
/// their last rank has fewer elements.
uint64_t lengthOf(const FlatUnit& unit)
{
    const FlatPartition& partition = unit.partition;
    return unit.kind == UnitKind::Whole ? partition.payloadElements()
                                        : partition.partitionElements() * partition.ranks();
}

/// Where a parameter is in its unit.
void placeIn(const FlatUnit& unit, uint32_t at, ParamFacts& facts)
{
    const FlatPartition& partition = unit.partition;
    const uint64_t elements = at < partition.paramCount() ? partition.paramElements(at) : 0;
    if (elements == 0 || isStoredWhole(unit))
        return; // there is no flat buffer
    facts.firstShare = partition.positionOf(at, 0).rank;
    facts.lastShare = partition.positionOf(at, elements - 1).rank;
    if (const uint64_t slice = partition.sliceElements(at); slice > 0) {
        facts.padding = slice * partition.ranks() - elements;
        facts.begin = 0;
        facts.end = static_cast<float>(static_cast<double>(facts.lastShare + 1) / partition.ranks());
        return;
    }
    const uint64_t all = partition.partitionElements() * partition.ranks();
    const uint64_t begin = partition.paramStart(at);
    const bool isLast = at + 1 == partition.paramCount();
    facts.padding = unit.kind == UnitKind::Whole ? 0
        : isLast                                 ? all - (begin + elements)
                                                 : partition.paddingAfter(at);
    const auto length = static_cast<double>(lengthOf(unit));
    facts.begin = static_cast<float>(static_cast<double>(begin) / length);
    facts.end = static_cast<float>(static_cast<double>(begin + elements) / length);
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
    m_lost.emplace(checkpoint);
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
        facts.dtype = modelDtype(checkpoint, ParamId{static_cast<uint32_t>(i)});
        if (param.unit != kNoUnit) {
            const FlatUnit& unit = checkpoint.units[index(param.unit)];
            states = unitText[index(param.unit)];
            facts.lostBytes = m_lost->bytesOf(ParamId{static_cast<uint32_t>(i)});
            facts.bytes = unitBytes[index(param.unit)] * param.elements - facts.lostBytes;
            placeIn(unit, param.indexInUnit, facts);
        }
        facts.states = setOf(states);
    }
    for (const WholeTensor& whole : checkpoint.whole) {
        if (whole.param == kNoParam)
            continue;
        const Parameter& param = checkpoint.params[index(whole.param)];
        ParamFacts& facts = m_facts[index(whole.param)];
        if (param.sharedWith == kNoParam)
            facts.bytes += itemSize(whole.dtype) * param.elements;
        const std::string before = m_stateSets[facts.states];
        facts.states = setOf(before.empty() ? whole.state : before + ", " + whole.state);
    }
    for (size_t i = 0; i < checkpoint.params.size(); ++i) {
        const ParamId owner = checkpoint.params[i].sharedWith;
        if (owner != kNoParam && m_stateSets[m_facts[i].states].empty())
            m_facts[i].states = m_facts[index(owner)].states;
        if (const ParamFacts& held = facts(placedAs(ParamId{static_cast<uint32_t>(i)}));
            &held != &m_facts[i]) {
            m_facts[i].firstShare = held.firstShare;
            m_facts[i].lastShare = held.lastShare;
            m_facts[i].begin = held.begin;
            m_facts[i].end = held.end;
        }
        m_maxBytes = std::max(m_maxBytes, m_facts[i].bytes);
    }
    compareFacts();
}

ParamId ParameterIndex::placedAs(ParamId param) const
{
    const Parameter& own = m_checkpoint->params[index(param)];
    return own.unit == kNoUnit && own.sharedWith != kNoParam ? own.sharedWith : param;
}

std::vector<std::pair<float, float>> ParameterIndex::lostParts(ParamId of) const
{
    std::vector<std::pair<float, float>> out;
    const ParamId param = placedAs(of);
    const FlatUnit* unit = unitOf(param);
    const ParamFacts& held = facts(param);
    if (held.lostBytes == 0 || unit == nullptr)
        return out;
    const bool isSliced = unit->partition.rule() == PartitionRule::Sliced;
    const double width = isSliced
        ? 1.0 / unit->partition.ranks()
        : static_cast<double>(unit->partition.partitionElements()) / static_cast<double>(lengthOf(*unit));
    for (const uint32_t share : m_lost->of(m_checkpoint->params[index(param)].unit)) {
        const float begin = std::max(held.begin, static_cast<float>(share * width));
        const float end = std::min(held.end, static_cast<float>((share + 1.0) * width));
        if (begin < end)
            out.emplace_back(begin, end);
    }
    return out;
}

void ParameterIndex::compareFacts()
{
    const std::vector<Parameter>& params = m_checkpoint->params;
    const auto digits = [](uint64_t number) {
        size_t count = 1;
        for (; number >= 10; number /= 10)
            ++count;
        return count;
    };
    std::array<size_t, kParamColumns> longest{};
    for (int i = 0; i < kParamColumns; ++i) {
        const auto column = static_cast<ParamColumn>(i);
        bool same = params.size() > 1 && column != ParamColumn::Name && column != ParamColumn::Where;
        for (size_t row = 0; row < params.size(); ++row) {
            size_t length = 0;
            if (column == ParamColumn::Shape) {
                for (const auto size : params[row].shape)
                    length += digits(static_cast<uint64_t>(size)) + 3;
                same = same && params[row].shape == params[0].shape;
            } else {
                const uint64_t key = keyOf(row, column);
                length = column == ParamColumn::States ? m_stateSets[m_facts[row].states].size()
                    : column == ParamColumn::DType     ? dtypeName(m_facts[row].dtype).size()
                                                       : digits(key);
                same = same && key == keyOf(0, column);
            }
            if (length > longest[static_cast<size_t>(i)]) {
                longest[static_cast<size_t>(i)] = length;
                m_widest[static_cast<size_t>(i)] = static_cast<uint32_t>(row);
            }
        }
        m_constant[static_cast<size_t>(i)] = same;
    }
}

bool ParameterIndex::isConstant(ParamColumn column) const
{
    return m_constant[static_cast<size_t>(column)];
}

ParamId ParameterIndex::widest(ParamColumn column) const
{
    return ParamId{m_widest[static_cast<size_t>(column)]};
}

uint64_t ParameterIndex::keyOf(size_t param, ParamColumn column) const
{
    const Parameter& of = m_checkpoint->params[param];
    const ParamFacts& facts = m_facts[param];
    switch (column) {
    case ParamColumn::Name:
    case ParamColumn::Shape:
        break;
    case ParamColumn::Elements:
        return of.elements;
    case ParamColumn::Bytes:
        return facts.bytes;
    case ParamColumn::Ranks:
        return facts.ranks();
    case ParamColumn::Where: { // unit by unit, as in its flat buffer
        const ParamId at = placedAs(ParamId{static_cast<uint32_t>(param)});
        const Parameter& placed = m_checkpoint->params[index(at)];
        return placed.unit == kNoUnit ? 0 : (uint64_t{index(placed.unit)} + 1) << 32 | placed.indexInUnit;
    }
    case ParamColumn::Padding:
        return facts.padding;
    case ParamColumn::DType:
        return static_cast<uint64_t>(facts.dtype);
    case ParamColumn::Role:
        return static_cast<uint64_t>(of.role) * 2 + (of.sharedWith != kNoParam ? 1 : 0);
    case ParamColumn::Group:
        return static_cast<uint64_t>(int64_t{of.group} + 1);
    case ParamColumn::States:
        return facts.states;
    }
    return 0;
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
            const int relation = compareNaturally(lowerName(a), lowerName(b));
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
    for (size_t i = 0; i < params.size(); ++i)
        keys[i] = keyOf(i, column);
    rows = order(ParamColumn::Name);
    std::stable_sort(rows.begin(), rows.end(), [&](uint32_t a, uint32_t b) { return keys[a] < keys[b]; });
    return rows;
}

} // namespace shardscope::ui
