// SPDX-License-Identifier: Apache-2.0
#include "core/torchfile/pickle/pickle_graph.h"

#include <algorithm>

namespace shardscope {

PickleImporter::PickleImporter(PickleBuilder& builder, const PickleGraph& source, Texts texts)
    : m_builder(builder)
    , m_source(source)
    , m_texts(texts)
    , m_pages((source.nodeCount() + kPageNodes - 1) / kPageNodes)
    , m_textMap(source.m_texts.size(), 0)
{
    // Growing holds the old and the new nodes. Unused room costs only addresses.
    std::vector<PickleGraph::Node>& nodes = m_builder.m_graph.m_nodes;
    if (texts == Texts::Share && nodes.capacity() < m_source.nodeCount())
        nodes.reserve(nodes.size() + m_source.nodeCount());
}

NodeId PickleImporter::mapped(NodeId sourceNode) const
{
    const auto& page = m_pages[index(sourceNode) / kPageNodes];
    return page ? page[index(sourceNode) % kPageNodes] : kNoNode;
}

void PickleImporter::setMapped(NodeId sourceNode, NodeId builtNode)
{
    auto& page = m_pages[index(sourceNode) / kPageNodes];
    if (!page) {
        page = std::make_unique<NodeId[]>(kPageNodes);
        std::fill_n(page.get(), kPageNodes, kNoNode);
    }
    page[index(sourceNode) % kPageNodes] = builtNode;
}

void PickleImporter::substitute(NodeId sourceNode, NodeId builtNode)
{
    if (index(sourceNode) < m_source.nodeCount())
        setMapped(sourceNode, builtNode);
}

/// Makes a copied node refer to its text in the new graph.
void PickleImporter::takeText(PickleGraph::Node& node, uint64_t bytes)
{
    if (m_texts == Texts::Copy) {
        const std::string_view text = std::string_view(*m_source.m_texts[node.a]).substr(node.value, bytes);
        return m_builder.storeText(node, text);
    }
    uint32_t& known = m_textMap[node.a];
    if (known == 0) {
        m_builder.m_graph.m_texts.push_back(m_source.m_texts[node.a]);
        known = static_cast<uint32_t>(m_builder.m_graph.m_texts.size());
    }
    node.a = known - 1;
}

/// The node's copy, still without children; they follow from m_pending, so that cycles and depth are safe.
NodeId PickleImporter::shell(NodeId sourceNode)
{
    if (index(sourceNode) >= m_source.nodeCount())
        return kNoNode;
    if (const NodeId known = mapped(sourceNode); known != kNoNode)
        return known;
    PickleGraph::Node node = m_source.m_nodes[index(sourceNode)];
    node.begin = 0;
    node.end = 0;
    node.extra = 0;
    bool hasChildren
        = m_source.m_nodes[index(sourceNode)].extra != 0 || m_source.m_wrappers.contains(index(sourceNode));
    switch (node.kind) {
    case NodeKind::String:
    case NodeKind::Bytes:
    case NodeKind::ByteArray:
    case NodeKind::BigInt:
        takeText(node, node.b);
        break;
    case NodeKind::Global:
        if ((node.flags & PickleGraph::kStackGlobal) != 0)
            hasChildren = true;
        else
            takeText(node, uint64_t{node.b >> 16} + 1 + (node.b & 0xFFFFu));
        break;
    case NodeKind::List:
    case NodeKind::Tuple:
    case NodeKind::Dict:
    case NodeKind::Set:
    case NodeKind::FrozenSet:
        hasChildren = hasChildren || node.b != 0;
        node.value = node.a = node.b = 0;
        break;
    case NodeKind::Reduce:
    case NodeKind::NewObj:
    case NodeKind::NewObjEx:
    case NodeKind::PersistentId:
        hasChildren = true;
        break;
    default:
        break;
    }
    const NodeId built = m_builder.m_graph.addNode(node);
    setMapped(sourceNode, built);
    if (hasChildren)
        m_pending.push_back(sourceNode);
    return built;
}

void PickleImporter::copyRun(
    const PickleGraph::Run& from, uint32_t extra, PickleGraph::Run PickleGraph::Extra::*to)
{
    PickleGraph& graph = m_builder.m_graph;
    for (const NodeId child : m_source.run(from)) {
        const NodeId copy = shell(child);
        graph.extend(graph.m_extras[extra].*to, std::span(&copy, 1));
    }
}

void PickleImporter::fill(NodeId sourceNode)
{
    PickleGraph& graph = m_builder.m_graph;
    const PickleGraph::Node source = m_source.m_nodes[index(sourceNode)];
    const NodeId built = mapped(sourceNode);
    const auto items = m_source.items(sourceNode);
    if (!items.empty()) {
        const uint64_t begin = graph.m_links.size();
        graph.m_links.resize(begin + items.size(), kNoNode);
        for (size_t i = 0; i < items.size(); ++i)
            graph.m_links[begin + i] = shell(items[i]);
        PickleGraph::Node& node = graph.m_nodes[index(built)];
        node.value = begin;
        node.a = node.b = static_cast<uint32_t>(items.size());
    }
    const bool call = m_source.callable(sourceNode) != kNoNode;
    const bool twoLines = source.kind == NodeKind::Global && (source.flags & PickleGraph::kStackGlobal) != 0;
    if (call || twoLines || source.kind == NodeKind::PersistentId) {
        const NodeId first = shell(NodeId{source.a});
        const NodeId second = source.kind == NodeKind::PersistentId ? NodeId{0} : shell(NodeId{source.b});
        graph.m_nodes[index(built)].a = index(first);
        graph.m_nodes[index(built)].b = index(second);
    }
    if (source.extra != 0) {
        const PickleGraph::Extra& from = m_source.m_extras[source.extra - 1];
        graph.extraFor(built);
        const uint32_t extra = graph.m_nodes[index(built)].extra - 1;
        copyRun(from.appended, extra, &PickleGraph::Extra::appended);
        copyRun(from.set, extra, &PickleGraph::Extra::set);
        copyRun(from.added, extra, &PickleGraph::Extra::added);
        copyRun(from.earlierStates, extra, &PickleGraph::Extra::earlierStates);
        copyRun(from.discarded, extra, &PickleGraph::Extra::discarded);
        graph.m_extras[extra].state = shell(from.state);
    }
    if (const auto wrapper = m_source.m_wrappers.find(index(sourceNode));
        wrapper != m_source.m_wrappers.end())
        graph.m_wrappers.emplace(index(built), shell(wrapper->second));
}

NodeId PickleImporter::import(NodeId sourceNode)
{
    const NodeId built = shell(sourceNode);
    while (!m_pending.empty()) {
        const NodeId next = m_pending.back();
        m_pending.pop_back();
        fill(next);
    }
    return built;
}

} // namespace shardscope
