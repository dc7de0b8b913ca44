// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/scalar_text.h"

#include "core/torchfile/pickle_values.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <vector>

namespace shardscope {

namespace {

constexpr int kMaxDepth = 16;

void appendQuoted(std::string& out, std::string_view text)
{
    out += '"';
    for (const char c : text) {
        if (c == '"' || c == '\\')
            out += '\\';
        out += c;
    }
    out += '"';
}

void append(std::string& out, const PickleGraph& graph, NodeId node, int depth);

void appendList(std::string& out, const PickleGraph& graph, std::span<const NodeId> items, int depth)
{
    out += '[';
    for (size_t i = 0; i < items.size(); ++i) {
        if (i > 0)
            out += ',';
        append(out, graph, items[i], depth + 1);
    }
    out += ']';
}

void appendMapping(std::string& out, const PickleGraph& graph, std::span<const NodeId> items, int depth)
{
    std::vector<std::string> entries;
    for (size_t i = 0; i + 1 < items.size(); i += 2) {
        std::string& entry = entries.emplace_back();
        append(entry, graph, items[i], depth + 1);
        entry += ':';
        append(entry, graph, items[i + 1], depth + 1);
    }
    std::sort(entries.begin(), entries.end()); // equal mappings were not always filled in one order
    out += '{';
    for (const std::string& entry : entries)
        out += (&entry == &entries.front() ? "" : ",") + entry;
    out += '}';
}

void append(std::string& out, const PickleGraph& graph, NodeId node, int depth)
{
    if (node == kNoNode || depth > kMaxDepth) {
        out += "…";
        return;
    }
    switch (graph.kind(node)) {
    case NodeKind::None:
        out += "null";
        return;
    case NodeKind::Bool:
        out += graph.boolean(node) ? "true" : "false";
        return;
    case NodeKind::Int:
        out += std::to_string(graph.integer(node));
        return;
    case NodeKind::Float: {
        std::array<char, 40> text{};
        std::snprintf(text.data(), text.size(), "%.17g", graph.real(node));
        out += text.data();
        return;
    }
    case NodeKind::String:
        appendQuoted(out, graph.text(node));
        return;
    case NodeKind::List:
    case NodeKind::Tuple:
        appendList(out, graph, graph.items(node), depth);
        return;
    default:
        break;
    }
    if (isMapping(graph, node)) {
        appendMapping(out, graph, mappingItems(graph, node), depth);
        return;
    }
    if (const auto object = asObject(graph, node)) {
        out += '<';
        out += object->className;
        out += ' ';
        if (object->attributes != kNoNode)
            append(out, graph, object->attributes, depth + 1);
        out += '>';
        return;
    }
    out += '<' + nodeText(graph, node) + '>';
}

} // namespace

std::string scalarText(const PickleGraph& graph, NodeId node)
{
    std::string out;
    append(out, graph, node, 0);
    return out;
}

} // namespace shardscope
