// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/reading.h"

namespace shardscope {

namespace {

constexpr size_t kWorthDropping = 256; ///< numbers

bool isZero(const PickleGraph& graph, NodeId node)
{
    return graph.kind(node) == NodeKind::Int && graph.integer(node) == 0;
}

/// Whether the groups' lists hold zeros only, and many.
bool areManyZeros(const PickleGraph& graph, NodeId paddings)
{
    size_t count = 0;
    for (const NodeId group : sequenceItems(graph, paddings)) {
        const auto items = sequenceItems(graph, group);
        NodeId last = kNoNode; // long rows of equal numbers share a node: one look is enough
        for (const NodeId item : items) {
            if (item != last && !isZero(graph, item))
                return false;
            last = item;
        }
        count += items.size();
    }
    return count >= kWorthDropping;
}

} // namespace

PickleGraph withoutZeroPaddings(PickleGraph graph)
{
    const NodeId wrapper = lookup(graph, graph.root(), "optimizer_state_dict");
    const NodeId paddings = lookup(graph, wrapper, "param_alignment_paddings");
    if (paddings == kNoNode || !areManyZeros(graph, paddings))
        return graph;
    PickleBuilder builder;
    PickleImporter importer(builder, graph);
    importer.substitute(paddings, builder.list());
    const NodeId root = importer.import(graph.root());
    return builder.finish(root);
}

} // namespace shardscope
