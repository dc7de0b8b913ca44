// SPDX-License-Identifier: Apache-2.0
#include "core/torchfile/pickle/pickle_emitter_state.h"

namespace shardscope {

namespace {

std::string latin1ToUtf8(std::string_view bytes)
{
    std::string out;
    out.reserve(bytes.size() * 2);
    for (const char c : bytes) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte < 0x80) {
            out.push_back(c);
        } else {
            out.push_back(static_cast<char>(static_cast<unsigned char>(0xC0 | (byte >> 6))));
            out.push_back(static_cast<char>(static_cast<unsigned char>(0x80 | (byte & 0x3F))));
        }
    }
    return out;
}

} // namespace

template <class T>
void PickleEmitter::littleEndian(T value)
{
    for (size_t i = 0; i < sizeof(T); ++i)
        m_out.push_back(
            static_cast<char>(static_cast<unsigned char>(static_cast<uint64_t>(value) >> (8 * i))));
}

void PickleEmitter::putMemo()
{
    const uint32_t at = m_nextMemo++;
    if (at < 256) {
        write(Opcode::BinPut);
        littleEndian(static_cast<uint8_t>(at));
    } else {
        write(Opcode::LongBinPut);
        littleEndian(at);
    }
}

void PickleEmitter::getMemo(uint32_t at)
{
    if (at < 256) {
        write(Opcode::BinGet);
        littleEndian(static_cast<uint8_t>(at));
    } else {
        write(Opcode::LongBinGet);
        littleEndian(at);
    }
}

void PickleEmitter::number(const Node& found, NodeId node)
{
    switch (found.kind) {
    case NodeKind::Bool:
        return write(found.value != 0 ? Opcode::NewTrue : Opcode::NewFalse);
    case NodeKind::Float:
        write(Opcode::BinFloat);
        return littleEndian(__builtin_bswap64(found.value));
    case NodeKind::BigInt:
        return longInteger(m_graph.text(node));
    case NodeKind::Int:
        break;
    default:
        return write(Opcode::None);
    }
    const auto value = static_cast<int64_t>(found.value);
    if (value >= 0 && value <= 0xFF) {
        write(Opcode::BinInt1);
        littleEndian(static_cast<uint8_t>(value));
    } else if (value >= 0 && value <= 0xFFFF) {
        write(Opcode::BinInt2);
        littleEndian(static_cast<uint16_t>(value));
    } else if (value >= -0x80000000LL && value <= 0x7FFFFFFFLL) {
        write(Opcode::BinInt);
        littleEndian(static_cast<uint32_t>(value));
    } else {
        std::string bytes;
        for (unsigned shift = 0; shift < 64; shift += 8)
            bytes.push_back(static_cast<char>(static_cast<unsigned char>(found.value >> shift)));
        longInteger(bytes);
    }
}

/// Two's complement without bytes that only repeat the sign.
void PickleEmitter::longInteger(std::string_view bytes)
{
    const auto at = [&](size_t i) { return static_cast<unsigned char>(bytes[i]); };
    while (bytes.size() > 1
        && ((at(bytes.size() - 1) == 0 && at(bytes.size() - 2) < 0x80)
            || (at(bytes.size() - 1) == 0xFF && at(bytes.size() - 2) >= 0x80)))
        bytes.remove_suffix(1);
    if (bytes.size() < 256) {
        write(Opcode::Long1);
        littleEndian(static_cast<uint8_t>(bytes.size()));
    } else {
        write(Opcode::Long4);
        littleEndian(static_cast<uint32_t>(bytes.size()));
    }
    m_out.append(bytes);
}

void PickleEmitter::unicode(std::string_view utf8)
{
    write(Opcode::BinUnicode);
    littleEndian(static_cast<uint32_t>(utf8.size()));
    m_out.append(utf8);
}

void PickleEmitter::text(NodeId node, const Node& found)
{
    const std::string_view value = m_graph.text(node);
    if (found.kind == NodeKind::String) {
        unicode(value);
        return remember(node);
    }
    if (found.kind == NodeKind::Global)
        return global(node, found);
    if (found.kind == NodeKind::ByteArray)
        return latin1Call(node, KnownGlobal::ByteArray, "latin-1", m_latinDash1Memo);
    if ((found.flags & PickleGraph::kEightBit) != 0) {
        write(value.size() < 256 ? Opcode::ShortBinString : Opcode::BinString);
        if (value.size() < 256)
            littleEndian(static_cast<uint8_t>(value.size()));
        else
            littleEndian(static_cast<uint32_t>(value.size()));
        m_out.append(value);
        return remember(node);
    }
    if (!value.empty())
        return latin1Call(node, KnownGlobal::Encode, "latin1", m_latin1Memo);
    writeKnownGlobal(KnownGlobal::Bytes);
    write(Opcode::EmptyTuple);
    write(Opcode::Reduce);
    remember(node);
}

/// callable(text decoded as Latin-1, codec): how protocol 2 spells bytes.
void PickleEmitter::latin1Call(NodeId node, KnownGlobal callable, std::string_view codec, uint32_t& codecMemo)
{
    writeKnownGlobal(callable);
    unicode(latin1ToUtf8(m_graph.text(node)));
    putMemo();
    if (codecMemo == kNoMemo) {
        codecMemo = m_nextMemo;
        unicode(codec);
        putMemo();
    } else {
        getMemo(codecMemo);
    }
    write(Opcode::Tuple2);
    putMemo();
    write(Opcode::Reduce);
    remember(node);
}

void PickleEmitter::writeKnownGlobal(KnownGlobal known)
{
    uint32_t& memo = m_knownMemo[static_cast<size_t>(known)];
    if (memo != kNoMemo)
        return getMemo(memo);
    constexpr std::array<std::string_view, 6> kLines{"c__builtin__\nset\n", "c__builtin__\nfrozenset\n",
        "c__builtin__\nbytes\n", "c__builtin__\nbytearray\n", "c_codecs\nencode\n",
        "c__builtin__\ngetattr\n"};
    m_out.append(kLines[static_cast<size_t>(known)]);
    memo = m_nextMemo;
    putMemo();
}

void PickleEmitter::globalLines(NodeId node)
{
    const std::string_view module = m_graph.globalModule(node);
    const std::string_view name = m_graph.globalName(node);
    if (module.find('\n') != std::string_view::npos || name.find('\n') != std::string_view::npos)
        return stop(ErrorCode::Unsupported, "the name of a global contains a line break");
    m_out.append(module).append("\n").append(name).append("\n");
}

void PickleEmitter::global(NodeId node, const Node& found)
{
    // From protocol 4 on, dots lead to attributes; protocol 2 spells each of them getattr(parent, "name").
    std::string_view rest = m_graph.globalName(node);
    const bool dotted = (found.flags & PickleGraph::kDotted) != 0 && rest.find('.') != std::string_view::npos;
    if (!dotted) {
        write(Opcode::Global);
        globalLines(node);
        return remember(node);
    }
    if (m_graph.globalModule(node).find('\n') != std::string_view::npos
        || rest.find('\n') != std::string_view::npos)
        return stop(ErrorCode::Unsupported, "the name of a global contains a line break");
    size_t depth = 0;
    for (const char c : rest)
        depth += c == '.' ? 1 : 0;
    for (size_t i = 0; i < depth; ++i)
        writeKnownGlobal(KnownGlobal::Getattr);
    size_t dot = rest.find('.');
    write(Opcode::Global);
    m_out.append(m_graph.globalModule(node)).append("\n").append(rest.substr(0, dot)).append("\n");
    putMemo();
    while (dot != std::string_view::npos) {
        rest.remove_prefix(dot + 1);
        dot = rest.find('.');
        unicode(rest.substr(0, dot));
        putMemo();
        write(Opcode::Tuple2);
        putMemo();
        write(Opcode::Reduce);
        if (dot != std::string_view::npos)
            putMemo();
    }
    remember(node);
}

} // namespace shardscope
