// SPDX-License-Identifier: Apache-2.0
#include "core/torchfile/pickle/pickle_redaction.h"

#include "core/torchfile/pickle/pickle_machine_opcodes.h"

#include <algorithm>
#include <unordered_set>

namespace shardscope {

namespace {

constexpr char kCover = 'x';
/// Equal small integers that follow one another may be one node (pickle_machine_constants.cpp).
constexpr size_t kSmallIntegerBytes = 2;

/// The strings that STACK_GLOBAL made classes and functions of: names, not values.
std::unordered_set<const char*> namesOfGlobals(const PickleGraph& graph)
{
    std::unordered_set<const char*> out;
    for (uint32_t i = 0; i < graph.nodeCount(); ++i) {
        if (graph.kind(NodeId{i}) != NodeKind::Global)
            continue;
        out.insert(graph.globalModule(NodeId{i}).data());
        out.insert(graph.globalName(NodeId{i}).data());
    }
    return out;
}

/// "12\n" as it follows an opcode of protocol 0, without the line end.
std::span<char> lineOf(std::span<char> operand)
{
    return !operand.empty() && operand.back() == '\n' ? operand.first(operand.size() - 1) : operand;
}

void coverText(std::span<char> text)
{
    std::fill(text.begin(), text.end(), kCover);
}

/// The number 1 in as many digits; 11 in two, because "00" and "01" after INT are False and True.
void coverDecimal(std::span<char> digits)
{
    if (!digits.empty() && digits.back() == 'L')
        digits = digits.first(digits.size() - 1);
    std::fill(digits.begin(), digits.end(), digits.size() == 2 ? '1' : '0');
    if (!digits.empty())
        digits.back() = '1';
}

class Redaction
{
public:
    explicit Redaction(std::span<char> stream)
        : m_stream(stream)
    {
    }

    void cover(uint64_t begin, uint64_t end)
    {
        if (begin >= end || end > m_stream.size())
            return;
        const auto opcode = static_cast<Opcode>(m_stream[begin]);
        const std::span<char> operand = m_stream.subspan(begin + 1, end - begin - 1);
        switch (opcode) {
        case Opcode::ShortBinString:
        case Opcode::ShortBinUnicode:
        case Opcode::ShortBinBytes:
            return coverText(behind(operand, 1));
        case Opcode::BinString:
        case Opcode::BinUnicode:
        case Opcode::BinBytes:
            return coverText(behind(operand, 4));
        case Opcode::BinUnicode8:
        case Opcode::BinBytes8:
        case Opcode::ByteArray8:
            return coverText(behind(operand, 8));
        case Opcode::BinInt1:
            return coverRow(begin);
        case Opcode::BinInt:
        case Opcode::BinInt2:
        case Opcode::BinFloat:
            return zero(operand);
        case Opcode::Long1:
            return zero(behind(operand, 1));
        case Opcode::Long4:
            return zero(behind(operand, 4));
        default:
            return coverOfText(opcode, begin, lineOf(operand));
        }
    }

private:
    static std::span<char> behind(std::span<char> operand, size_t length)
    {
        return operand.subspan(std::min(length, operand.size()));
    }
    static void zero(std::span<char> bytes) { std::fill(bytes.begin(), bytes.end(), '\0'); }

    /// Operands of protocol 0, and the truth values that have none.
    void coverOfText(Opcode opcode, uint64_t begin, std::span<char> line)
    {
        switch (opcode) {
        case Opcode::NewTrue:
            m_stream[begin] = static_cast<char>(Opcode::NewFalse);
            return;
        case Opcode::Int:
            if (line.size() == 2 && line[0] == '0') // a truth value
                line[1] = '0';
            else
                coverDecimal(line);
            return;
        case Opcode::Long:
            return coverDecimal(line);
        case Opcode::Float:
            std::fill(line.begin(), line.end(), '0');
            return;
        case Opcode::Unicode:
            return coverText(line);
        case Opcode::String:
            if (line.size() > 2)
                coverText(line.subspan(1, line.size() - 2));
            return;
        default: // a persistent id: it names a storage
            return;
        }
    }

    /// The whole row; the node may represent every integer in it.
    void coverRow(uint64_t begin)
    {
        const char value = m_stream[begin + 1];
        for (uint64_t at = begin; m_stream.size() - at >= kSmallIntegerBytes
             && m_stream[at] == static_cast<char>(Opcode::BinInt1) && m_stream[at + 1] == value;
             at += kSmallIntegerBytes)
            m_rowEnd = at + kSmallIntegerBytes;
        m_stream[begin + 1] = '\0';
        const uint64_t length = (m_rowEnd - begin) / kSmallIntegerBytes;
        if (length <= kLongRow) // a node each
            return;
        for (uint64_t at = begin; at < m_rowEnd; at += kSmallIntegerBytes)
            m_stream[at + 1] = '\0';
    }

    static constexpr uint64_t kLongRow = 16;

    std::span<char> m_stream;
    uint64_t m_rowEnd = 0;
};

bool isLeaf(NodeKind kind)
{
    switch (kind) {
    case NodeKind::Bool:
    case NodeKind::Int:
    case NodeKind::BigInt:
    case NodeKind::Float:
    case NodeKind::String:
    case NodeKind::Bytes:
    case NodeKind::ByteArray:
        return true;
    default:
        return false;
    }
}

} // namespace

void redactPickle(std::span<char> stream, const PickleGraph& graph, const std::vector<bool>& kept)
{
    const auto names = namesOfGlobals(graph);
    Redaction redaction(stream);
    for (uint32_t i = 0; i < graph.nodeCount(); ++i) {
        const NodeId node{i};
        if (kept[i] || !isLeaf(graph.kind(node)))
            continue;
        if (graph.kind(node) == NodeKind::String && names.contains(graph.text(node).data()))
            continue;
        redaction.cover(graph.sourceBegin(node), graph.sourceEnd(node));
    }
}

} // namespace shardscope
