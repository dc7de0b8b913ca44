// SPDX-License-Identifier: Apache-2.0
#include "core/report/json/pickle_json.h"

#include "core/torchfile/pickle/pickle_values.h"

#include <unordered_map>

namespace shardscope {

namespace {

constexpr int kDepthLimit = 8;
constexpr size_t kNodeLimit = 10'000;

class NodeWriter
{
public:
    NodeWriter(JsonWriter& json, const PickleGraph& graph)
        : m_json(json)
        , m_graph(graph)
    {
    }

    void write(NodeId node, int depth)
    {
        if (node == kNoNode)
            return m_json.null();
        if (++m_nodes > kNodeLimit || depth >= kDepthLimit)
            return m_json.value(nodeText(m_graph, node));
        if (isMapping(m_graph, node)) {
            m_json.beginObject();
            fields(node, {}, depth + 1);
            return m_json.endObject();
        }
        switch (m_graph.kind(node)) {
        case NodeKind::None:
            return m_json.null();
        case NodeKind::Bool:
            return m_json.value(m_graph.boolean(node));
        case NodeKind::Int:
            return m_json.value(m_graph.integer(node));
        case NodeKind::Float:
            return m_json.value(m_graph.real(node));
        case NodeKind::String:
            return m_json.value(m_graph.text(node));
        case NodeKind::List:
        case NodeKind::Tuple:
            m_json.beginArray();
            for (const NodeId item : m_graph.items(node)) {
                if (m_nodes > kNodeLimit) {
                    m_json.value("…");
                    break;
                }
                write(item, depth + 1);
            }
            return m_json.endArray();
        default:
            return m_json.value(nodeText(m_graph, node));
        }
    }

    void fields(NodeId mapping, std::string_view except, int depth)
    {
        const auto items = mappingItems(m_graph, mapping);
        std::vector<std::pair<std::string, NodeId>> pairs;
        std::unordered_map<std::string, size_t> places;
        for (size_t i = 0; i + 1 < items.size() && pairs.size() < kNodeLimit; i += 2) {
            const auto text = asString(m_graph, items[i]);
            std::string name = text ? std::string(*text) : nodeText(m_graph, items[i]);
            const auto [place, isNew] = places.try_emplace(name, pairs.size());
            if (isNew)
                pairs.emplace_back(std::move(name), items[i + 1]);
            else
                pairs[place->second].second = items[i + 1];
        }
        for (const auto& [name, value] : pairs) {
            if (!except.empty() && name == except)
                continue;
            m_json.key(name);
            write(value, depth);
        }
    }

private:
    JsonWriter& m_json;
    const PickleGraph& m_graph;
    size_t m_nodes = 0;
};

} // namespace

void writeNode(JsonWriter& json, const PickleGraph& graph, NodeId node)
{
    NodeWriter(json, graph).write(node, 0);
}

void writeMappingFields(JsonWriter& json, const PickleGraph& graph, NodeId mapping, std::string_view except)
{
    NodeWriter(json, graph).fields(mapping, except, 0);
}

} // namespace shardscope
