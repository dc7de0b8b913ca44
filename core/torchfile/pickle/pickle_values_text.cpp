// SPDX-License-Identifier: Apache-2.0
#include "core/base/text.h"
#include "core/torchfile/pickle/pickle_values.h"

#include <fmt/format.h>

#include <algorithm>

namespace shardscope {

namespace {

constexpr int kDeepest = 3;
constexpr size_t kMaxBigIntBytes = 32;

/// Control characters, line and direction marks as escapes: names must not be able to fake what is on screen.
std::string printable(std::string_view raw, size_t limit)
{
    const bool cut = raw.size() > limit;
    const std::string text = toValidUtf8(raw.substr(0, limit));
    std::string out;
    for (size_t i = 0; i < text.size(); ++i) {
        const auto byte = static_cast<unsigned char>(text[i]);
        const auto next
            = [&](size_t k) { return i + k < text.size() ? static_cast<unsigned char>(text[i + k]) : 0u; };
        if (byte < 0x20 || byte == 0x7F) {
            out += fmt::format("\\x{:02x}", byte);
        } else if (byte == 0xC2 && next(1) < 0xA0) {
            out += fmt::format("\\x{:02x}", next(1));
            i += 1;
        } else if (byte == 0xE2 && (next(1) == 0x80 || next(1) == 0x81)) {
            const unsigned code = 0x2000 | ((next(1) & 0x3F) << 6) | (next(2) & 0x3F);
            const bool unsafe = (code >= 0x200B && code <= 0x200F) || (code >= 0x2028 && code <= 0x202E)
                || (code >= 0x2060 && code <= 0x206F);
            out += unsafe ? fmt::format("\\u{:04x}", code) : text.substr(i, 3);
            i += 2;
        } else {
            out.push_back(text[i]);
        }
    }
    return cut ? out + "…" : out;
}

/// Depth is bounded by kDeepest, so this recursion is not driven by the input.
class Printer
{
public:
    Printer(const PickleGraph& graph, size_t limit)
        : m_graph(graph)
        , m_limit(limit)
    {
    }

    std::string print(NodeId node)
    {
        add(node, 0);
        if (m_out.size() > m_limit) {
            m_out = toValidUtf8(std::string_view(m_out).substr(0, m_limit));
            while (m_out.ends_with("\xEF\xBF\xBD"))
                m_out.resize(m_out.size() - 3);
            m_out += "…";
        }
        return std::move(m_out);
    }

private:
    [[nodiscard]] std::string globalText(NodeId node) const
    {
        const std::string_view module = m_graph.globalModule(node);
        const std::string name = printable(m_graph.globalName(node), m_limit);
        return module.empty() ? name : printable(module, m_limit) + "." + name;
    }

    void sequence(NodeId node, std::string_view open, std::string_view close, int depth)
    {
        const auto items = m_graph.items(node);
        m_out += open;
        for (size_t i = 0; i < items.size() && m_out.size() <= m_limit; ++i) {
            if (i > 0)
                m_out += ", ";
            if (depth >= kDeepest) {
                m_out += "…";
                break;
            }
            add(items[i], depth + 1);
        }
        if (m_graph.kind(node) == NodeKind::Tuple && items.size() == 1)
            m_out += ",";
        m_out += close;
    }

    void mapping(NodeId node, int depth)
    {
        const auto pairs = mappingItems(m_graph, node);
        m_out += "{";
        for (size_t i = 0; i + 1 < pairs.size() && m_out.size() <= m_limit; i += 2) {
            if (i > 0)
                m_out += ", ";
            if (depth >= kDeepest) {
                m_out += "…";
                break;
            }
            add(pairs[i], depth + 1);
            m_out += ": ";
            add(pairs[i + 1], depth + 1);
        }
        m_out += "}";
    }

    void call(NodeId node, int depth)
    {
        if (const auto shape = asShape(m_graph, node))
            m_out += shapeText(*shape);
        else if (looksLikeTensor(m_graph, node))
            tensor(node);
        else if (isMapping(m_graph, node))
            mapping(node, depth);
        else if (const auto object = asObject(m_graph, node))
            m_out += "<" + printable(object->module, m_limit) + "." + printable(object->className, m_limit)
                + ">";
        else if (m_graph.kind(m_graph.callable(node)) == NodeKind::Global && depth < kDeepest) {
            m_out += globalText(m_graph.callable(node));
            sequence(m_graph.arguments(node), "(", ")", depth);
        } else
            m_out += "<call>";
    }

    void tensor(NodeId node)
    {
        const auto view = asTensor(m_graph, node);
        m_out += view ? fmt::format("<tensor {} {}>", dtypeName(view->dtype), shapeText(view->sizes))
                      : std::string("<invalid tensor>");
    }

    void add(NodeId node, int depth)
    {
        if (node == kNoNode)
            return;
        switch (m_graph.kind(node)) {
        case NodeKind::None:
            m_out += "None";
            break;
        case NodeKind::Bool:
            m_out += m_graph.boolean(node) ? "True" : "False";
            break;
        case NodeKind::Int:
            m_out += std::to_string(m_graph.integer(node));
            break;
        case NodeKind::BigInt:
            bigInt(m_graph.text(node));
            break;
        case NodeKind::Float:
            m_out += fmt::format("{}", m_graph.real(node));
            break;
        case NodeKind::String:
            m_out += depth == 0 ? printable(m_graph.text(node), m_limit)
                                : "'" + printable(m_graph.text(node), m_limit) + "'";
            break;
        case NodeKind::Bytes:
        case NodeKind::ByteArray:
            m_out += fmt::format("<{} bytes>", m_graph.text(node).size());
            break;
        case NodeKind::List:
            sequence(node, "[", "]", depth);
            break;
        case NodeKind::Tuple:
            sequence(node, "(", ")", depth);
            break;
        case NodeKind::Set:
        case NodeKind::FrozenSet:
            sequence(node, "{", "}", depth);
            break;
        case NodeKind::Dict:
            mapping(node, depth);
            break;
        case NodeKind::Global:
            m_out += globalText(node);
            break;
        case NodeKind::Reduce:
        case NodeKind::NewObj:
        case NodeKind::NewObjEx:
            call(node, depth);
            break;
        case NodeKind::PersistentId:
            m_out += "<storage>";
            break;
        case NodeKind::Extension:
            m_out += fmt::format("<extension {}>", m_graph.integer(node));
            break;
        case NodeKind::Buffer:
            m_out += "<buffer>";
            break;
        }
    }

    /// Hexadecimal: decimal digits of a large number take quadratic time.
    void bigInt(std::string_view bytes)
    {
        if (bytes.size() > kMaxBigIntBytes) {
            m_out += fmt::format("<integer of {} bytes>", bytes.size());
            return;
        }
        std::string magnitude(bytes.rbegin(), bytes.rend());
        const bool negative
            = !magnitude.empty() && (static_cast<unsigned char>(magnitude.front()) & 0x80) != 0;
        unsigned carry = 1;
        for (size_t i = magnitude.size(); negative && i-- > 0;) {
            carry += static_cast<unsigned char>(~magnitude[i]);
            magnitude[i] = static_cast<char>(static_cast<unsigned char>(carry & 0xFF));
            carry >>= 8;
        }
        std::string digits = toHex(magnitude);
        digits.erase(0, std::min(digits.find_first_not_of('0'), digits.size()));
        m_out += (negative ? "-0x" : "0x") + digits;
    }

    const PickleGraph& m_graph;
    size_t m_limit;
    std::string m_out;
};

} // namespace

std::string nodeText(const PickleGraph& graph, NodeId node, size_t limitBytes)
{
    return Printer(graph, limitBytes).print(node);
}

} // namespace shardscope
