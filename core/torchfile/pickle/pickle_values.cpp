// SPDX-License-Identifier: Apache-2.0
#include "core/torchfile/pickle/pickle_values.h"

namespace shardscope {

namespace {

bool isCollection(const PickleGraph& graph, NodeId callable)
{
    if (graph.globalModule(callable) != "collections")
        return false;
    const std::string_view name = graph.globalName(callable);
    return name == "OrderedDict" || name == "defaultdict" || name == "Counter";
}

bool isCall(const PickleGraph& graph, NodeId node)
{
    return graph.callable(node) != kNoNode;
}

template <class Matches>
NodeId lastValue(const PickleGraph& graph, NodeId mapping, Matches matches)
{
    const auto pairs = mappingItems(graph, mapping);
    for (size_t i = pairs.size(); i >= 2; i -= 2)
        if (matches(pairs[i - 2]))
            return pairs[i - 1];
    return kNoNode;
}

} // namespace

bool isGlobal(const PickleGraph& graph, NodeId node, std::string_view module, std::string_view name)
{
    return graph.kind(node) == NodeKind::Global && graph.globalName(node) == name
        && graph.globalModule(node) == module;
}

bool isMapping(const PickleGraph& graph, NodeId node)
{
    return graph.kind(node) == NodeKind::Dict
        || (isCall(graph, node) && isCollection(graph, graph.callable(node)));
}

/// Counter carries its pairs as a dict in its arguments, the others get them set afterwards.
std::span<const NodeId> mappingItems(const PickleGraph& graph, NodeId node)
{
    if (graph.kind(node) == NodeKind::Dict)
        return graph.items(node);
    if (!isMapping(graph, node))
        return {};
    const auto arguments = graph.items(graph.arguments(node));
    if (graph.setItems(node).empty() && arguments.size() == 1 && graph.kind(arguments[0]) == NodeKind::Dict)
        return graph.items(arguments[0]);
    return graph.setItems(node);
}

NodeId lookup(const PickleGraph& graph, NodeId mapping, std::string_view key)
{
    return lastValue(graph, mapping, [&](NodeId candidate) {
        return graph.kind(candidate) == NodeKind::String && graph.text(candidate) == key;
    });
}

NodeId lookup(const PickleGraph& graph, NodeId mapping, int64_t key)
{
    return lastValue(graph, mapping, [&](NodeId candidate) {
        return graph.kind(candidate) == NodeKind::Int && graph.integer(candidate) == key;
    });
}

std::span<const NodeId> sequenceItems(const PickleGraph& graph, NodeId node)
{
    const NodeKind kind = graph.kind(node);
    return kind == NodeKind::List || kind == NodeKind::Tuple ? graph.items(node) : std::span<const NodeId>{};
}

std::optional<int64_t> asInteger(const PickleGraph& graph, NodeId node)
{
    return graph.kind(node) == NodeKind::Int ? std::optional(graph.integer(node)) : std::nullopt;
}

std::optional<double> asNumber(const PickleGraph& graph, NodeId node)
{
    if (graph.kind(node) == NodeKind::Float)
        return graph.real(node);
    if (graph.kind(node) == NodeKind::Int)
        return static_cast<double>(graph.integer(node));
    return std::nullopt;
}

std::optional<bool> asBool(const PickleGraph& graph, NodeId node)
{
    return graph.kind(node) == NodeKind::Bool ? std::optional(graph.boolean(node)) : std::nullopt;
}

std::optional<std::string_view> asString(const PickleGraph& graph, NodeId node)
{
    return graph.kind(node) == NodeKind::String ? std::optional(graph.text(node)) : std::nullopt;
}

std::optional<Shape> asShape(const PickleGraph& graph, NodeId node)
{
    if (graph.kind(node) == NodeKind::Reduce) {
        const auto arguments = graph.items(graph.arguments(node));
        if (!isGlobal(graph, graph.callable(node), "torch", "Size") || arguments.size() != 1)
            return std::nullopt;
        node = arguments[0];
    }
    const NodeKind kind = graph.kind(node);
    if (kind != NodeKind::List && kind != NodeKind::Tuple)
        return std::nullopt;
    Shape shape;
    shape.reserve(graph.items(node).size());
    for (const NodeId item : graph.items(node)) {
        if (graph.kind(item) != NodeKind::Int || graph.integer(item) < 0)
            return std::nullopt;
        shape.push_back(static_cast<uint64_t>(graph.integer(item)));
    }
    return shape;
}

std::optional<int64_t> asEnumValue(const PickleGraph& graph, NodeId node, std::string_view module,
    std::string_view className, const std::function<std::optional<int64_t>(std::string_view)>& byName)
{
    if (graph.kind(node) != NodeKind::Reduce)
        return std::nullopt;
    const NodeId callable = graph.callable(node);
    const auto arguments = graph.items(graph.arguments(node));
    if (isGlobal(graph, callable, module, className))
        return arguments.size() == 1 ? asInteger(graph, arguments[0]) : std::nullopt;
    const bool getattr = isGlobal(graph, callable, "__builtin__", "getattr")
        || isGlobal(graph, callable, "builtins", "getattr");
    if (!getattr || arguments.size() != 2 || !isGlobal(graph, arguments[0], module, className) || !byName)
        return std::nullopt;
    const auto name = asString(graph, arguments[1]);
    return name ? byName(*name) : std::nullopt;
}

std::optional<ObjectView> asObject(const PickleGraph& graph, NodeId node)
{
    NodeId type = graph.callable(node);
    if (graph.kind(type) != NodeKind::Global)
        return std::nullopt;
    const NodeId state = graph.state(node);
    if (graph.kind(node) == NodeKind::Reduce) {
        const auto arguments = graph.items(graph.arguments(node));
        const bool reconstructed = isGlobal(graph, type, "copyreg", "_reconstructor")
            || isGlobal(graph, type, "copy_reg", "_reconstructor");
        if (reconstructed && arguments.size() == 3 && graph.kind(arguments[0]) == NodeKind::Global)
            type = arguments[0];
        else if (state == kNoNode)
            return std::nullopt; // a call without state is not certainly an instance
    }
    ObjectView view{graph.globalModule(type), graph.globalName(type), kNoNode};
    if (isMapping(graph, state))
        view.attributes = state;
    // Classes with slots: (dict or None, dict of slots).
    if (const auto parts = graph.items(state); graph.kind(state) == NodeKind::Tuple && parts.size() == 2) {
        if (isMapping(graph, parts[0]))
            view.attributes = parts[0];
        else if (graph.kind(parts[0]) == NodeKind::None && isMapping(graph, parts[1]))
            view.attributes = parts[1];
    }
    return view;
}

} // namespace shardscope
