// SPDX-License-Identifier: Apache-2.0
#include "core/torchfile/pickle/pickle_graph.h"

#include <array>
#include <bit>

namespace shardscope {

namespace {

constexpr size_t kChunkBytes = size_t{1} << 20;

} // namespace

NodeId PickleBuilder::add(NodeKind kind, uint64_t value)
{
    PickleGraph::Node node;
    node.kind = kind;
    node.value = value;
    return m_graph.addNode(node);
}

/// Small texts share chunks, so that a million keys are not a million allocations.
void PickleBuilder::storeText(PickleGraph::Node& node, std::string_view text)
{
    if (!m_chunk || (m_chunk->size() + text.size() > kChunkBytes && !m_chunk->empty())) {
        m_chunk = std::make_shared<std::string>();
        m_chunkIndex = static_cast<uint32_t>(m_graph.m_texts.size());
        m_graph.m_texts.push_back(m_chunk);
    }
    node.a = m_chunkIndex;
    node.value = m_chunk->size();
    m_chunk->append(text);
}

NodeId PickleBuilder::none()
{
    return add(NodeKind::None);
}

NodeId PickleBuilder::boolean(bool value)
{
    return add(NodeKind::Bool, value ? 1 : 0);
}

NodeId PickleBuilder::integer(int64_t value)
{
    return add(NodeKind::Int, static_cast<uint64_t>(value));
}

NodeId PickleBuilder::real(double value)
{
    return add(NodeKind::Float, std::bit_cast<uint64_t>(value));
}

NodeId PickleBuilder::string(std::string_view utf8)
{
    PickleGraph::Node node;
    node.kind = NodeKind::String;
    node.b = static_cast<uint32_t>(utf8.size());
    storeText(node, utf8);
    return m_graph.addNode(node);
}

NodeId PickleBuilder::global(std::string_view module, std::string_view name)
{
    PickleGraph::Node node;
    node.kind = NodeKind::Global;
    node.b = static_cast<uint32_t>(module.size() << 16 | (name.size() & 0xFFFFu));
    std::string both(module);
    both.append("\n").append(name);
    storeText(node, both);
    return m_graph.addNode(node);
}

NodeId PickleBuilder::tuple(std::span<const NodeId> items)
{
    const NodeId node = add(NodeKind::Tuple);
    m_graph.extendItems(node, items);
    return node;
}

NodeId PickleBuilder::list(std::span<const NodeId> items)
{
    const NodeId node = add(NodeKind::List);
    m_graph.extendItems(node, items);
    return node;
}

NodeId PickleBuilder::dict()
{
    return add(NodeKind::Dict);
}

NodeId PickleBuilder::reduce(NodeId callable, NodeId arguments)
{
    PickleGraph::Node node;
    node.kind = NodeKind::Reduce;
    node.a = index(callable);
    node.b = index(arguments);
    return m_graph.addNode(node);
}

NodeId PickleBuilder::newObj(NodeId callable, NodeId arguments)
{
    PickleGraph::Node node;
    node.kind = NodeKind::NewObj;
    node.a = index(callable);
    node.b = index(arguments);
    return m_graph.addNode(node);
}

NodeId PickleBuilder::persistentId(NodeId target)
{
    PickleGraph::Node node;
    node.kind = NodeKind::PersistentId;
    node.a = index(target);
    return m_graph.addNode(node);
}

void PickleBuilder::append(NodeId list, NodeId item)
{
    if (m_graph.kind(list) == NodeKind::List)
        m_graph.extendItems(list, std::span(&item, 1));
    else
        m_graph.extend(m_graph.extraFor(list).appended, std::span(&item, 1));
}

void PickleBuilder::setItem(NodeId dict, NodeId key, NodeId value)
{
    const std::array pair{key, value};
    if (m_graph.kind(dict) == NodeKind::Dict)
        m_graph.extendItems(dict, pair);
    else
        m_graph.extend(m_graph.extraFor(dict).set, pair);
}

void PickleBuilder::setState(NodeId object, NodeId state)
{
    m_graph.extraFor(object).state = state;
}

PickleGraph PickleBuilder::finish(NodeId root)
{
    m_graph.m_root = root;
    PickleGraph done = std::move(m_graph);
    m_graph = PickleGraph();
    m_chunk.reset();
    m_chunkIndex = 0;
    return done;
}

} // namespace shardscope
