// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/model/scalar_text.h"

#include "core/base/text.h"
#include "core/torchfile/pickle/pickle_values.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <vector>

namespace shardscope {

namespace {

constexpr int kMaxDepth = 16;
/// Values with shared parts can be far larger than their pickles.
constexpr size_t kMaxNodes = 1'000'000;

class Speller
{
public:
    explicit Speller(const PickleGraph& graph)
        : m_graph(graph)
    {
    }

    std::string of(NodeId node, int depth)
    {
        if (node == kNoNode)
            return "…";
        if (depth > kMaxDepth || ++m_nodes > kMaxNodes)
            return lacking("what is nested too deep, or too much", "…");
        switch (m_graph.kind(node)) {
        case NodeKind::None:
            return "null";
        case NodeKind::Bool:
            return m_graph.boolean(node) ? "true" : "false";
        case NodeKind::Int:
            return std::to_string(m_graph.integer(node));
        case NodeKind::BigInt:
            return "<int " + toHex(m_graph.text(node)) + ">";
        case NodeKind::Float:
            return number(m_graph.real(node));
        case NodeKind::String:
            return quoted(m_graph.text(node));
        case NodeKind::Bytes:
        case NodeKind::ByteArray:
            return "<bytes " + toHex(m_graph.text(node)) + ">";
        case NodeKind::List:
        case NodeKind::Tuple:
            return '[' + joined(each(m_graph.items(node), depth)) + ']';
        case NodeKind::Set:
        case NodeKind::FrozenSet:
            return '{' + sorted(each(m_graph.items(node), depth)) + '}';
        case NodeKind::Global:
            return '<' + nodeText(m_graph, node) + '>';
        default:
            return call(node, depth);
        }
    }

    [[nodiscard]] std::string_view lacks() const { return m_lacks; }

private:
    std::string lacking(std::string_view what, std::string text)
    {
        m_lacks = what;
        return text;
    }

    static std::string number(double value)
    {
        std::array<char, 40> text{};
        std::snprintf(text.data(), text.size(), "%.17g", value);
        return text.data();
    }

    static std::string quoted(std::string_view text)
    {
        std::string out = "\"";
        for (const char c : text) {
            if (c == '"' || c == '\\')
                out += '\\';
            out += c;
        }
        return out + '"';
    }

    static std::string joined(const std::vector<std::string>& entries)
    {
        std::string out;
        for (const std::string& entry : entries)
            out += (&entry == &entries.front() ? "" : ",") + entry;
        return out;
    }

    /// Equal mappings and sets may have been filled in different orders.
    static std::string sorted(std::vector<std::string> entries)
    {
        std::sort(entries.begin(), entries.end());
        return joined(entries);
    }

    std::vector<std::string> each(std::span<const NodeId> items, int depth)
    {
        std::vector<std::string> out;
        for (const NodeId item : items)
            out.push_back(of(item, depth + 1));
        return out;
    }

    std::string entries(std::span<const NodeId> items, int depth)
    {
        std::vector<std::string> out;
        for (size_t i = 0; i + 1 < items.size(); i += 2) {
            std::string entry = of(items[i], depth + 1);
            out.push_back(std::move(entry) + ':' + of(items[i + 1], depth + 1));
        }
        return sorted(std::move(out));
    }

    std::string call(NodeId node, int depth)
    {
        if (isMapping(m_graph, node))
            return '{' + entries(mappingItems(m_graph, node), depth) + '}';
        if (looksLikeTensor(m_graph, node))
            return lacking("the values of a tensor", '<' + nodeText(m_graph, node) + '>');
        const NodeId callable = m_graph.callable(node);
        if (m_graph.kind(callable) != NodeKind::Global)
            return lacking("a value without a text form", '<' + nodeText(m_graph, node) + '>');
        const std::string_view name = m_graph.globalName(callable);
        const auto given = m_graph.items(m_graph.arguments(node));
        if ((name == "set" || name == "frozenset") && given.size() == 1
            && m_graph.kind(given[0]) == NodeKind::List)
            return '{' + sorted(each(m_graph.items(given[0]), depth)) + '}'; // in protocols before 4
        const auto object = asObject(m_graph, node);
        std::string out = '<' + std::string(object ? object->className : name);
        if (!given.empty() && (!object || object->className == name)) // else they include the class
            out += ' ' + of(m_graph.arguments(node), depth + 1);
        if (const auto items = m_graph.appendedItems(node); !items.empty())
            out += " [" + joined(each(items, depth)) + ']';
        if (const auto items = m_graph.setItems(node); !items.empty())
            out += " {" + entries(items, depth) + '}';
        if (object && object->attributes != kNoNode)
            out += ' ' + of(object->attributes, depth + 1);
        else if (m_graph.state(node) != kNoNode)
            out += ' ' + of(m_graph.state(node), depth + 1);
        return out + '>';
    }

    const PickleGraph& m_graph;
    size_t m_nodes = 0;
    std::string_view m_lacks;
};

} // namespace

std::string scalarText(const PickleGraph& graph, NodeId node)
{
    return spellScalar(graph, node).text;
}

ScalarSpelling spellScalar(const PickleGraph& graph, NodeId node)
{
    Speller speller(graph);
    std::string text = speller.of(node, 0);
    return {std::move(text), speller.lacks()};
}

} // namespace shardscope
