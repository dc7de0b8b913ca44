// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/model/zero_paddings.h"

#include "core/checkpoint/model/fused_experts.h"
#include "core/checkpoint/model/optim_states.h"

#include <algorithm>

namespace shardscope {

namespace {

constexpr size_t kWorthDropping = 256; ///< numbers
/// The only key of the mapping that replaces the list. No release writes a mapping there.
constexpr std::string_view kLeftOut = "zeros left out while reading";

NodeId paddingsNode(const PickleGraph& graph)
{
    return lookup(graph, wrapperOf(graph), "param_alignment_paddings");
}

bool isZero(const PickleGraph& graph, NodeId node)
{
    return graph.kind(node) == NodeKind::Int && graph.integer(node) == 0;
}

bool areZeros(const PickleGraph& graph, std::span<const NodeId> items)
{
    NodeId last = kNoNode; // long rows of equal numbers share a node: one check is enough
    for (const NodeId item : items) {
        if (item != last && !isZero(graph, item))
            return false;
        last = item;
    }
    return true;
}

/// Whether the groups' lists hold only zeros, and many of them.
bool areManyZeros(const PickleGraph& graph, NodeId paddings)
{
    size_t count = 0;
    for (const NodeId group : sequenceItems(graph, paddings)) {
        const auto items = sequenceItems(graph, group);
        if (!areZeros(graph, items))
            return false;
        count += items.size();
    }
    return count >= kWorthDropping;
}

} // namespace

PickleGraph withoutZeroPaddings(PickleGraph graph)
{
    const NodeId paddings = paddingsNode(graph);
    if (paddings == kNoNode || !areManyZeros(graph, paddings))
        return graph;
    PickleBuilder builder;
    PickleImporter importer(builder, graph, PickleImporter::Texts::Copy);
    const NodeId counts = builder.list();
    for (const NodeId group : sequenceItems(graph, paddings))
        builder.append(counts, builder.integer(static_cast<int64_t>(sequenceItems(graph, group).size())));
    const NodeId leftOut = builder.dict();
    builder.setItem(leftOut, builder.string(kLeftOut), counts);
    importer.substitute(paddings, leftOut);
    const NodeId root = importer.import(graph.root());
    return builder.finish(root);
}

std::optional<RecordedPaddings> RecordedPaddings::of(const PickleGraph& graph)
{
    const NodeId node = paddingsNode(graph);
    if (node == kNoNode)
        return std::nullopt;
    RecordedPaddings out;
    out.m_graph = &graph;
    for (const NodeId count : sequenceItems(graph, lookup(graph, node, kLeftOut))) {
        out.m_counts.push_back(static_cast<size_t>(asInteger(graph, count).value_or(0)));
        out.m_items.emplace_back();
    }
    for (const NodeId group : sequenceItems(graph, node)) {
        out.m_items.push_back(sequenceItems(graph, group));
        out.m_counts.push_back(out.m_items.back().size());
    }
    return out;
}

std::optional<int64_t> RecordedPaddings::padding(size_t group, size_t param) const
{
    return m_items[group].empty() ? int64_t{0} : asInteger(*m_graph, m_items[group][param]);
}

bool RecordedPaddings::isEmpty() const
{
    return std::all_of(m_counts.begin(), m_counts.end(), [](size_t count) { return count == 0; });
}

bool RecordedPaddings::isAllZero() const
{
    return std::all_of(m_items.begin(), m_items.end(),
        [&](std::span<const NodeId> items) { return areZeros(*m_graph, items); });
}

ExpectedPaddings::ExpectedPaddings(const Checkpoint& checkpoint, const std::vector<UnitId>& units)
{
    const FusedExperts fused = FusedExperts::of(checkpoint);
    for (const UnitId id : units) {
        const FlatUnit& unit = checkpoint.units[index(id)];
        Group& group = m_groups.emplace_back();
        for (const uint32_t end : fused.optimizerEnds(checkpoint, unit)) {
            const uint64_t padding = unit.partition.paddingAfter(end);
            group.paddings.push_back(static_cast<int64_t>(padding));
            group.allZero = group.allZero && padding == 0;
        }
    }
}

bool ExpectedPaddings::areIn(const PickleGraph& optimFile) const
{
    const auto recorded = RecordedPaddings::of(optimFile);
    if (!recorded)
        return true;
    if (recorded->groups() != m_groups.size())
        return false;
    for (size_t g = 0; g < m_groups.size(); ++g) {
        const Group& group = m_groups[g];
        if (recorded->count(g) != group.paddings.size())
            return false;
        if (recorded->isLeftOut(g) && group.allZero)
            continue;
        for (size_t i = 0; i < group.paddings.size(); ++i) {
            if (recorded->padding(g, i) != group.paddings[i])
                return false;
        }
    }
    return true;
}

} // namespace shardscope
