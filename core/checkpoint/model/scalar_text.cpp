// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/model/scalar_text.h"

#include "core/base/text.h"
#include "core/tensor/statistics.h"
#include "core/torchfile/pickle/pickle_values.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <fmt/format.h>
#include <vector>

namespace shardscope {

namespace {

constexpr int kMaxDepth = 16;
/// Values with shared parts can be far larger than their pickles.
constexpr size_t kMaxNodes = 1'000'000;

/// The numbers of a small tensor of at most one dimension. Nothing for others.
std::optional<std::vector<double>> numbersIn(const TorchFile& file, const TensorView& tensor)
{
    const auto count = tensor.elements();
    if (!count || *count > TorchFile::kSmallRecord || tensor.sizes.size() > 1 || !tensor.isContiguous()
        || !(hasStatistics(tensor.dtype) || tensor.dtype == DType::Bool))
        return std::nullopt;
    std::span<const uint8_t> bytes;
    uint64_t offset = 0;
    if (const std::string* held = file.heldStorage(tensor.storage.key)) {
        bytes = {reinterpret_cast<const uint8_t*>(held->data()), held->size()};
        offset = tensor.storageOffset * itemSize(tensor.dtype);
    } else if (const auto extent = file.extentOf(tensor)) {
        bytes = file.smallRecord(extent->record);
        offset = extent->recordOffset;
    }
    const uint64_t length = *count * itemSize(tensor.dtype);
    if (offset > bytes.size() || length > bytes.size() - offset)
        return std::nullopt;
    std::vector<double> out;
    for (uint64_t i = 0; i < *count; ++i)
        out.push_back(elementAsDouble(tensor.dtype, bytes.data() + offset + i * itemSize(tensor.dtype)));
    return out;
}

class Speller
{
public:
    explicit Speller(const PickleGraph& graph, const TorchFile* file = nullptr,
        std::string (*spellReal)(double) = realText)
        : m_graph(graph)
        , m_file(file)
        , m_spellReal(spellReal)
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
            return m_spellReal(m_graph.real(node));
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

    std::string tensor(NodeId node)
    {
        const auto view = m_file == nullptr ? Result<TensorView>(fail(ErrorCode::NotFound, "no file"))
                                            : asTensor(m_graph, node);
        const auto numbers = view ? numbersIn(*m_file, *view) : std::nullopt;
        if (!numbers)
            return lacking("the values of a tensor", '<' + nodeText(m_graph, node) + '>');
        if (view->sizes.empty())
            return m_spellReal(numbers->front());
        std::vector<std::string> out;
        for (const double number : *numbers)
            out.push_back(m_spellReal(number));
        return '[' + joined(out) + ']';
    }

    std::string call(NodeId node, int depth)
    {
        if (isMapping(m_graph, node))
            return '{' + entries(mappingItems(m_graph, node), depth) + '}';
        if (looksLikeTensor(m_graph, node))
            return tensor(node);
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
    const TorchFile* m_file;
    std::string (*m_spellReal)(double);
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

std::string scalarText(const TorchFile& file, NodeId node)
{
    return spellScalar(file, node).text;
}

ScalarSpelling spellScalar(const TorchFile& file, NodeId node)
{
    Speller speller(file.pickle(), &file);
    std::string text = speller.of(node, 0);
    return {std::move(text), speller.lacks()};
}

ScalarSpelling spellShortly(const TorchFile& file, NodeId node)
{
    Speller speller(file.pickle(), &file, shortRealText);
    std::string text = speller.of(node, 0);
    return {std::move(text), speller.lacks()};
}

std::optional<double> numberOf(const TorchFile& file, NodeId node)
{
    if (node == kNoNode)
        return std::nullopt;
    if (const auto number = asNumber(file.pickle(), node))
        return number;
    if (!looksLikeTensor(file.pickle(), node))
        return std::nullopt;
    const auto tensor = asTensor(file.pickle(), node);
    const auto numbers = tensor ? numbersIn(file, *tensor) : std::nullopt;
    return numbers && numbers->size() == 1 ? std::optional(numbers->front()) : std::nullopt;
}

std::string realText(double value)
{
    std::array<char, 40> text{};
    std::snprintf(text.data(), text.size(), "%.17g", value);
    return text.data();
}

std::string shortRealText(double value)
{
    return fmt::format("{}", value);
}

} // namespace shardscope
