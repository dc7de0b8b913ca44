// SPDX-License-Identifier: Apache-2.0
#include "core/torchfile/pickle/pickle_machine_state.h"

#include <cstring>

namespace shardscope {

namespace {

constexpr uint64_t kLongRow = 16; ///< equal integers that follow one another

/// UTF-8 that may contain surrogates, as CPython's "surrogatepass" reads it.
bool isPermissiveUtf8(std::string_view text)
{
    const auto* at = reinterpret_cast<const unsigned char*>(text.data());
    const auto* end = at + text.size();
    const auto continues = [&](ptrdiff_t i) { return end - at > i && (at[i] & 0xC0) == 0x80; };
    while (at < end) {
        if (end - at >= 8) {
            uint64_t word = 0;
            std::memcpy(&word, at, sizeof word);
            if ((word & 0x8080808080808080u) == 0) {
                at += 8;
                continue;
            }
        }
        const unsigned char first = *at;
        if (first < 0x80)
            at += 1;
        else if (first >= 0xC2 && first <= 0xDF && continues(1))
            at += 2;
        else if (first >= 0xE0 && first <= 0xEF && continues(1) && continues(2)
            && (first != 0xE0 || at[1] >= 0xA0))
            at += 3;
        else if (first >= 0xF0 && first <= 0xF4 && continues(1) && continues(2) && continues(3)
            && (first != 0xF0 || at[1] >= 0x90) && (first != 0xF4 || at[1] < 0x90))
            at += 4;
        else
            return false;
    }
    return true;
}

/// How many times BININT1 of this value is at the front.
uint64_t countRow(std::string_view stream, uint8_t value)
{
    const char pair[] = {static_cast<char>(Opcode::BinInt1), static_cast<char>(value)};
    char block[32];
    for (size_t i = 0; i < sizeof block; ++i)
        block[i] = pair[i % 2];
    size_t at = 0;
    while (stream.size() - at >= sizeof block && std::memcmp(stream.data() + at, block, sizeof block) == 0)
        at += sizeof block;
    while (stream.size() - at >= 2 && std::memcmp(stream.data() + at, pair, 2) == 0)
        at += 2;
    return at / 2;
}

} // namespace

bool PickleMachine::constant(Opcode code)
{
    Node node;
    uint8_t byte = 0;
    uint16_t half = 0;
    uint32_t word = 0;
    uint64_t wide = 0;
    switch (code) {
    case Opcode::None:
        return pushNode(node);
    case Opcode::NewTrue:
    case Opcode::NewFalse:
        node.kind = NodeKind::Bool;
        node.value = code == Opcode::NewTrue ? 1 : 0;
        return pushNode(node);
    case Opcode::BinInt1:
        return operand(byte) && pushInteger(byte) && repeatInteger(byte);
    case Opcode::BinInt2:
        return operand(half) && pushInteger(half);
    case Opcode::BinInt:
        return operand(word) && pushInteger(static_cast<uint64_t>(int64_t{static_cast<int32_t>(word)}));
    case Opcode::BinFloat:
        node.kind = NodeKind::Float;
        return operand(wide) && (node.value = __builtin_bswap64(wide), pushNode(node));
    case Opcode::Long1:
        return operand(byte) && longInteger(byte);
    case Opcode::Long4:
        return signedLength(word) && longInteger(word);
    case Opcode::Int:
    case Opcode::Long:
    case Opcode::Float:
        return textNumber(code);
    case Opcode::BinUnicode:
        return operand(word) && unicode(word);
    case Opcode::ShortBinUnicode:
        return operand(byte) && unicode(byte);
    case Opcode::BinUnicode8:
        return operand(wide) && unicode(wide);
    case Opcode::ShortBinString:
        return operand(byte) && bytes(NodeKind::Bytes, byte, PickleGraph::kEightBit);
    case Opcode::BinString:
        return signedLength(word) && bytes(NodeKind::Bytes, word, PickleGraph::kEightBit);
    case Opcode::ShortBinBytes:
        return operand(byte) && bytes(NodeKind::Bytes, byte);
    case Opcode::BinBytes:
        return operand(word) && bytes(NodeKind::Bytes, word);
    case Opcode::BinBytes8:
        return operand(wide) && bytes(NodeKind::Bytes, wide);
    case Opcode::ByteArray8:
        return operand(wide) && bytes(NodeKind::ByteArray, wide);
    case Opcode::String:
        return quotedString();
    case Opcode::Unicode:
        return rawUnicode();
    default:
        return object(code);
    }
}

bool PickleMachine::pushInteger(uint64_t value)
{
    Node node;
    node.kind = NodeKind::Int;
    node.value = value;
    return pushNode(node);
}

bool PickleMachine::signedLength(uint32_t& length)
{
    return operand(length) && (length <= 0x7FFFFFFFu || fail("the length is negative"));
}

/// The rest of a row of equal small integers, one node for all of them when the row is long.
///
/// DeepSpeed writes one zero per parameter into every rank's file (param_alignment_paddings): a node each
/// would cost more than everything else in the checkpoint. Short rows keep their own nodes, because edits go
/// by node.
bool PickleMachine::repeatInteger(uint8_t value)
{
    const uint64_t repeats = countRow({m_data + m_position, m_size - m_position}, value);
    if (repeats < kLongRow)
        return true;
    if (repeats > m_limits.stackDepth - m_stack.size())
        return failLimit("items on the stack", m_limits.stackDepth);
    m_stack.insert(m_stack.end(), repeats, NodeId{m_stack.back()});
    m_position += 2 * repeats;
    m_opcodes += repeats;
    return true;
}

bool PickleMachine::longInteger(uint64_t length)
{
    if (length > m_limits.integerBytes)
        return failLimit("bytes of one integer", m_limits.integerBytes);
    uint64_t offset = 0;
    if (!take(length, offset))
        return false;
    // Bytes that only repeat the sign are not needed.
    const auto at = [&](uint64_t i) { return static_cast<uint8_t>(m_data[offset + i]); };
    while (length > 1
        && ((at(length - 1) == 0 && at(length - 2) < 0x80)
            || (at(length - 1) == 0xFF && at(length - 2) >= 0x80)))
        --length;
    if (length > 8) {
        Node node;
        node.kind = NodeKind::BigInt;
        node.value = offset;
        node.b = static_cast<uint32_t>(length);
        return pushNode(node);
    }
    uint64_t value = length > 0 && at(length - 1) >= 0x80 ? ~uint64_t{0} : 0;
    for (uint64_t i = length; i-- > 0;)
        value = (value << 8) | at(i);
    return pushInteger(value);
}

bool PickleMachine::bytes(NodeKind kind, uint64_t length, uint8_t flags)
{
    Node node;
    node.kind = kind;
    node.flags = flags;
    if (!take(length, node.value))
        return false;
    node.b = static_cast<uint32_t>(length);
    return pushNode(node);
}

bool PickleMachine::unicode(uint64_t length)
{
    Node node;
    node.kind = NodeKind::String;
    if (!take(length, node.value))
        return false;
    if (!isPermissiveUtf8({m_data + node.value, length}))
        return fail("the text is not UTF-8");
    node.b = static_cast<uint32_t>(length);
    return pushNode(node);
}

} // namespace shardscope
