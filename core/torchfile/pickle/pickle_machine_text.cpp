// SPDX-License-Identifier: Apache-2.0
#include "core/torchfile/pickle/pickle_machine_state.h"

#include <bit>
#include <charconv>
#include <cstdlib>

/// The opcodes of protocol 0. Their operands are lines of text.
namespace shardscope {

namespace {

/// Longer decimal text is refused: turning it into binary takes quadratic time.
constexpr size_t kLongestDecimal = 65536;

void appendUtf8(std::string& out, uint32_t code)
{
    const auto put
        = [&](uint32_t byte) { out.push_back(static_cast<char>(static_cast<unsigned char>(byte))); };
    if (code < 0x80) {
        put(code);
    } else if (code < 0x800) {
        put(0xC0 | (code >> 6));
        put(0x80 | (code & 0x3F));
    } else if (code < 0x10000) {
        put(0xE0 | (code >> 12));
        put(0x80 | ((code >> 6) & 0x3F));
        put(0x80 | (code & 0x3F));
    } else {
        put(0xF0 | (code >> 18));
        put(0x80 | ((code >> 12) & 0x3F));
        put(0x80 | ((code >> 6) & 0x3F));
        put(0x80 | (code & 0x3F));
    }
}

/// `digits` characters of hex or octal at `at`; nothing when one is missing.
std::optional<uint32_t> numberAt(std::string_view text, size_t at, size_t digits, int base)
{
    uint32_t value = 0;
    if (at + digits > text.size())
        return std::nullopt;
    const char* begin = text.data() + at;
    const auto [end, error] = std::from_chars(begin, begin + digits, value, base);
    return error == std::errc{} && end == begin + digits ? std::optional(value) : std::nullopt;
}

/// The inside of a Python 2 string literal. Unknown escapes keep their backslash, as Python does.
std::optional<std::string> unescape(std::string_view text)
{
    std::string out;
    for (size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '\\') {
            out.push_back(text[i]);
            continue;
        }
        if (++i == text.size())
            return std::nullopt;
        constexpr std::string_view kNames = "\\'\"abfnrtv";
        constexpr std::string_view kMeanings = "\\'\"\a\b\f\n\r\t\v";
        if (const size_t known = kNames.find(text[i]); known != std::string_view::npos) {
            out.push_back(kMeanings[known]);
        } else if (text[i] == 'x') {
            const auto value = numberAt(text, i + 1, 2, 16);
            if (!value)
                return std::nullopt;
            out.push_back(static_cast<char>(static_cast<unsigned char>(*value)));
            i += 2;
        } else if (text[i] >= '0' && text[i] <= '7') {
            uint32_t value = 0;
            size_t digits = 0;
            for (;
                 digits < 3 && i + digits < text.size() && text[i + digits] >= '0' && text[i + digits] <= '7';
                 ++digits)
                value = value * 8 + static_cast<uint32_t>(text[i + digits] - '0');
            out.push_back(static_cast<char>(static_cast<unsigned char>(value)));
            i += digits - 1;
        } else {
            out.push_back('\\');
            out.push_back(text[i]);
        }
    }
    return out;
}

} // namespace

bool PickleMachine::textNumber(Opcode code)
{
    std::string_view text;
    if (!line(text))
        return false;
    Node node;
    if (code == Opcode::Int && (text == "00" || text == "01")) {
        node.kind = NodeKind::Bool;
        node.value = text == "01" ? 1 : 0;
        return pushNode(node);
    }
    if (code == Opcode::Long && text.ends_with('L'))
        text.remove_suffix(1);
    const char* end = text.data() + text.size();
    if (code == Opcode::Float) {
        double value = 0;
        const auto [last, error] = std::from_chars(text.data(), end, value);
        const bool plain = text.find('(') == std::string_view::npos;
        if (last != end || text.empty() || !plain
            || (error != std::errc{} && error != std::errc::result_out_of_range))
            return fail("the text is not a number");
        if (error == std::errc::result_out_of_range)
            value = std::strtod(
                std::string(text).c_str(), nullptr); // overflow to inf, underflow to 0, as Python does
        node.kind = NodeKind::Float;
        node.value = std::bit_cast<uint64_t>(value);
        return pushNode(node);
    }
    int64_t value = 0;
    const auto [last, error] = std::from_chars(text.data(), end, value);
    if (last != end || text.empty() || error == std::errc::invalid_argument)
        return fail("the text is not an integer");
    if (error == std::errc::result_out_of_range)
        return decimalLong(text);
    node.kind = NodeKind::Int;
    node.value = static_cast<uint64_t>(value);
    return pushNode(node);
}

/// Decimal digits that do not fit 64 bits, as two's complement.
bool PickleMachine::decimalLong(std::string_view digits)
{
    const bool negative = digits.front() == '-';
    digits.remove_prefix(negative ? 1 : 0);
    if (digits.size() > kLongestDecimal)
        return failLimit("decimal digits of one integer", kLongestDecimal);
    std::vector<uint32_t> limbs;
    for (const char digit : digits) {
        uint64_t carry = static_cast<uint64_t>(digit - '0');
        for (uint32_t& limb : limbs) {
            carry += uint64_t{limb} * 10;
            limb = static_cast<uint32_t>(carry);
            carry >>= 32;
        }
        if (carry != 0)
            limbs.push_back(static_cast<uint32_t>(carry));
    }
    limbs.push_back(0);
    if (negative) {
        uint64_t carry = 1;
        for (uint32_t& limb : limbs) {
            carry += static_cast<uint32_t>(~limb);
            limb = static_cast<uint32_t>(carry);
            carry >>= 32;
        }
    }
    std::string text;
    for (const uint32_t limb : limbs)
        for (unsigned shift = 0; shift < 32; shift += 8)
            text.push_back(static_cast<char>(static_cast<unsigned char>(limb >> shift)));
    return pushOwned(NodeKind::BigInt, text, 0);
}

bool PickleMachine::pushOwned(NodeKind kind, std::string_view text, uint8_t flags)
{
    if (!m_owned) {
        m_owned = std::make_shared<std::string>();
        m_graph.m_texts.push_back(m_owned);
    }
    Node node;
    node.kind = kind;
    node.flags = flags;
    node.a = 1;
    node.value = m_owned->size();
    node.b = static_cast<uint32_t>(text.size());
    m_owned->append(text);
    return pushNode(node);
}

bool PickleMachine::quotedString()
{
    std::string_view text;
    if (!line(text))
        return false;
    if (text.size() < 2 || text.front() != text.back() || (text.front() != '\'' && text.front() != '"'))
        return fail("the string is not quoted");
    const auto value = unescape(text.substr(1, text.size() - 2));
    return value ? pushOwned(NodeKind::Bytes, *value, PickleGraph::kEightBit)
                 : fail("an escape is incomplete");
}

/// Python's raw-unicode-escape: \uXXXX and \UXXXXXXXX are escapes, every other byte is Latin-1.
bool PickleMachine::rawUnicode()
{
    std::string_view text;
    if (!line(text))
        return false;
    std::string out;
    for (size_t i = 0; i < text.size(); ++i) {
        const bool escape
            = text[i] == '\\' && i + 1 < text.size() && (text[i + 1] == 'u' || text[i + 1] == 'U');
        if (!escape) {
            appendUtf8(out, static_cast<unsigned char>(text[i]));
            continue;
        }
        const size_t digits = text[i + 1] == 'u' ? 4 : 8;
        const auto value = numberAt(text, i + 2, digits, 16);
        if (!value || *value > 0x10FFFF)
            return fail("an escape is incomplete or too large");
        appendUtf8(out, *value);
        i += digits + 1;
    }
    return pushOwned(NodeKind::String, out, 0);
}

bool PickleMachine::memoText(Opcode code)
{
    std::string_view text;
    if (!line(text))
        return false;
    uint64_t at = 0;
    const auto [last, error] = std::from_chars(text.data(), text.data() + text.size(), at);
    if (text.empty() || error != std::errc{} || last != text.data() + text.size())
        return fail("the text is not a memo index");
    return code == Opcode::Put ? put(at) : get(at);
}

} // namespace shardscope
