// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/units/state_values.h"

#include <algorithm>

namespace shardscope {

namespace {

constexpr int kMaxNested = 4;
constexpr size_t kMaxValues = 1024;
constexpr std::string_view kBitsandbytes = "__bnb_optimizer_quant_state__";

std::string keyText(const PickleGraph& graph, NodeId key)
{
    const auto text = asString(graph, key);
    return text ? std::string(*text) : nodeText(graph, key);
}

/// The prefix of the names in a nested dict.
std::string prefixIn(const std::string& prefix, const std::string& key)
{
    return key == kBitsandbytes ? prefix : prefix + key + ".";
}

/// Walks an entry. Dicts that are nested deeper, or too many, are values: shared ones would have no end.
class Walk
{
public:
    explicit Walk(const PickleGraph& graph)
        : m_graph(graph)
    {
    }

    void addValues(NodeId entry, const std::string& prefix, std::vector<StateValue>& out)
    {
        const auto items = mappingItems(m_graph, entry);
        for (size_t i = 0; i + 1 < items.size(); i += 2) {
            const std::string key = keyText(m_graph, items[i]);
            if (enter(items[i + 1])) {
                addValues(items[i + 1], prefixIn(prefix, key), out);
                --m_depth;
            } else {
                out.push_back({prefix + key, items[i + 1]});
            }
        }
    }

    NodeId copyOf(NodeId entry, const std::string& prefix, const EntryCopy& copy)
    {
        const NodeId out = copy.builder.dict();
        const auto items = mappingItems(m_graph, entry);
        for (size_t i = 0; i + 1 < items.size(); i += 2) {
            const std::string key = keyText(m_graph, items[i]);
            const NodeId copied = copy.import(items[i]);
            if (enter(items[i + 1])) {
                copy.builder.setItem(out, copied, copyOf(items[i + 1], prefixIn(prefix, key), copy));
                --m_depth;
            } else {
                copy.builder.setItem(out, copied, copy.valueOf(prefix + key, items[i + 1]));
            }
        }
        return out;
    }

private:
    bool enter(NodeId value)
    {
        if (++m_values > kMaxValues || m_depth == kMaxNested || m_graph.kind(value) != NodeKind::Dict
            || mappingItems(m_graph, value).empty())
            return false;
        ++m_depth;
        return true;
    }

    const PickleGraph& m_graph;
    int m_depth = 0;
    size_t m_values = 0;
};

/// The class that torch.Tensor.__reduce_ex__ names for a tensor of a subclass; kNoNode for others.
NodeId tensorClass(const PickleGraph& graph, NodeId value)
{
    if (graph.kind(value) != NodeKind::Reduce)
        return kNoNode;
    const NodeId callable = graph.callable(value);
    const auto arguments = graph.items(graph.arguments(value));
    const bool named = isGlobal(graph, callable, "torch._tensor", "_rebuild_from_type_v2");
    return named && arguments.size() == 4 && graph.kind(arguments[1]) == NodeKind::Global ? arguments[1]
                                                                                          : kNoNode;
}

} // namespace

std::vector<StateValue> stateValues(const PickleGraph& graph, NodeId entry)
{
    std::vector<StateValue> out;
    if (entry != kNoNode && !isMapping(graph, entry))
        out.push_back({"entry", entry});
    Walk(graph).addValues(entry, {}, out);
    return out;
}

NodeId stateValue(const PickleGraph& graph, NodeId entry, std::string_view name)
{
    const NodeId own = lookup(graph, entry, name);
    if (own != kNoNode && graph.kind(own) != NodeKind::Dict)
        return own;
    for (const StateValue& value : stateValues(graph, entry)) {
        if (value.name == name)
            return value.node;
    }
    return kNoNode;
}

NodeId copyEntry(const PickleGraph& graph, NodeId entry, const EntryCopy& copy)
{
    return Walk(graph).copyOf(entry, {}, copy);
}

std::string classText(const PickleGraph& graph, NodeId value)
{
    if (const NodeId named = tensorClass(graph, value); named != kNoNode)
        return nodeText(graph, named);
    if (const auto object = asObject(graph, value))
        return std::string(object->module) + "." + std::string(object->className);
    const NodeKind kind = graph.kind(value);
    if (kind == NodeKind::List || kind == NodeKind::Tuple)
        return (kind == NodeKind::List ? "a list of " : "a tuple of ")
            + std::to_string(graph.items(value).size());
    if (isMapping(graph, value))
        return "a mapping with " + std::to_string(mappingItems(graph, value).size() / 2) + " keys";
    constexpr size_t kLimit = 80;
    return nodeText(graph, value, kLimit);
}

bool isTensorSubclass(const PickleGraph& graph, NodeId value)
{
    const NodeId named = tensorClass(graph, value);
    return named != kNoNode && !isGlobal(graph, named, "torch", "Tensor")
        && !isGlobal(graph, named, "torch._tensor", "Tensor")
        && !isGlobal(graph, named, "torch.nn.parameter", "Parameter");
}

} // namespace shardscope
