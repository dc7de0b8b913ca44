// SPDX-License-Identifier: Apache-2.0
#include "core/torchfile/pickle/pickle_graph.h"

#include <algorithm>
#include <bit>

namespace shardscope {

const PickleGraph::Node* PickleGraph::nodeAt(NodeId node) const
{
    return index(node) < m_nodes.size() ? &m_nodes[index(node)] : nullptr;
}

const PickleGraph::Extra* PickleGraph::extraOf(NodeId node) const
{
    const Node* found = nodeAt(node);
    return found != nullptr && found->extra != 0 ? &m_extras[found->extra - 1] : nullptr;
}

std::string_view PickleGraph::textAt(const Node& node) const
{
    return std::string_view(*m_texts[node.a]).substr(node.value, node.b);
}

NodeKind PickleGraph::kind(NodeId node) const
{
    const Node* found = nodeAt(node);
    return found != nullptr ? found->kind : NodeKind::None;
}

bool PickleGraph::boolean(NodeId node) const
{
    const Node* found = nodeAt(node);
    return found != nullptr && found->kind == NodeKind::Bool && found->value != 0;
}

int64_t PickleGraph::integer(NodeId node) const
{
    const Node* found = nodeAt(node);
    if (found == nullptr || (found->kind != NodeKind::Int && found->kind != NodeKind::Extension))
        return 0;
    return static_cast<int64_t>(found->value);
}

double PickleGraph::real(NodeId node) const
{
    const Node* found = nodeAt(node);
    return found != nullptr && found->kind == NodeKind::Float ? std::bit_cast<double>(found->value) : 0.0;
}

std::string_view PickleGraph::text(NodeId node) const
{
    switch (kind(node)) {
    case NodeKind::String:
    case NodeKind::Bytes:
    case NodeKind::ByteArray:
    case NodeKind::BigInt:
        return textAt(m_nodes[index(node)]);
    default:
        return {};
    }
}

std::span<const NodeId> PickleGraph::items(NodeId node) const
{
    switch (kind(node)) {
    case NodeKind::List:
    case NodeKind::Tuple:
    case NodeKind::Dict:
    case NodeKind::Set:
    case NodeKind::FrozenSet: {
        const Node& found = m_nodes[index(node)];
        return {m_links.data() + found.value, found.b};
    }
    default:
        return {};
    }
}

std::string_view PickleGraph::globalModule(NodeId node) const
{
    if (kind(node) != NodeKind::Global)
        return {};
    const Node& found = m_nodes[index(node)];
    if ((found.flags & kStackGlobal) != 0)
        return text(NodeId{found.a});
    return std::string_view(*m_texts[found.a]).substr(found.value, found.b >> 16);
}

std::string_view PickleGraph::globalName(NodeId node) const
{
    if (kind(node) != NodeKind::Global)
        return {};
    const Node& found = m_nodes[index(node)];
    if ((found.flags & kStackGlobal) != 0)
        return text(NodeId{found.b});
    const uint64_t begin = found.value + (found.b >> 16) + 1;
    return std::string_view(*m_texts[found.a]).substr(begin, found.b & 0xFFFFu);
}

NodeId PickleGraph::callable(NodeId node) const
{
    switch (kind(node)) {
    case NodeKind::Reduce:
    case NodeKind::NewObj:
    case NodeKind::NewObjEx:
        return NodeId{m_nodes[index(node)].a};
    default:
        return kNoNode;
    }
}

NodeId PickleGraph::arguments(NodeId node) const
{
    return callable(node) != kNoNode ? NodeId{m_nodes[index(node)].b} : kNoNode;
}

NodeId PickleGraph::target(NodeId node) const
{
    return kind(node) == NodeKind::PersistentId ? NodeId{m_nodes[index(node)].a} : kNoNode;
}

std::span<const NodeId> PickleGraph::appendedItems(NodeId node) const
{
    const Extra* extra = extraOf(node);
    return extra != nullptr ? run(extra->appended) : std::span<const NodeId>{};
}

std::span<const NodeId> PickleGraph::setItems(NodeId node) const
{
    const Extra* extra = extraOf(node);
    return extra != nullptr ? run(extra->set) : std::span<const NodeId>{};
}

NodeId PickleGraph::state(NodeId node) const
{
    const Extra* extra = extraOf(node);
    return extra != nullptr ? extra->state : kNoNode;
}

uint64_t PickleGraph::sourceBegin(NodeId node) const
{
    const Node* found = nodeAt(node);
    return found != nullptr ? found->begin : 0;
}

uint64_t PickleGraph::sourceEnd(NodeId node) const
{
    const Node* found = nodeAt(node);
    return found != nullptr ? found->end : 0;
}

NodeId PickleGraph::addNode(const Node& node)
{
    m_nodes.push_back(node);
    return NodeId{static_cast<uint32_t>(m_nodes.size() - 1)};
}

PickleGraph::Extra& PickleGraph::extraFor(NodeId node)
{
    Node& found = m_nodes[index(node)];
    if (found.extra == 0) {
        m_extras.emplace_back();
        found.extra = static_cast<uint32_t>(m_extras.size());
    }
    return m_extras[found.extra - 1];
}

void PickleGraph::extend(Run& run, std::span<const NodeId> more)
{
    const auto added = static_cast<uint32_t>(more.size());
    if (added == 0)
        return;
    if (run.count == 0 && run.capacity == 0)
        run.begin = m_links.size();
    if (run.count + added > run.capacity) {
        if (run.begin + run.capacity == m_links.size()) {
            m_links.resize(run.begin + run.count); // drops spare room, so that no room is filled twice
            m_links.insert(m_links.end(), more.begin(), more.end());
            run.count += added;
            run.capacity = run.count;
            return;
        }
        // Other data follows: move to the end, with spare room, so that single appends stay cheap.
        const uint64_t begin = m_links.size();
        const uint32_t capacity = std::max(run.count * 2, run.count + added);
        m_links.resize(begin + capacity, kNoNode);
        std::copy_n(m_links.begin() + static_cast<ptrdiff_t>(run.begin), run.count,
            m_links.begin() + static_cast<ptrdiff_t>(begin));
        run.begin = begin;
        run.capacity = capacity;
    }
    std::copy(more.begin(), more.end(), m_links.begin() + static_cast<ptrdiff_t>(run.begin + run.count));
    run.count += added;
}

void PickleGraph::extendItems(NodeId node, std::span<const NodeId> more)
{
    Node& found = m_nodes[index(node)];
    Run run{found.value, found.b, found.a};
    extend(run, more);
    found.value = run.begin;
    found.b = run.count;
    found.a = run.capacity;
}

uint64_t PickleGraph::memoryBytes() const
{
    return m_nodes.size() * sizeof(Node) + m_links.size() * sizeof(NodeId) + m_extras.size() * sizeof(Extra);
}

bool storageConflicts(const PickleGraph& graph, NodeId persistentId)
{
    const PickleGraph::Node* found = graph.nodeAt(persistentId);
    return found != nullptr && (found->flags & PickleGraph::kConflicting) != 0;
}

} // namespace shardscope
