// SPDX-License-Identifier: Apache-2.0
#include "core/base/text.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdio>

namespace shardscope {

namespace {

constexpr std::string_view kHexDigits = "0123456789ABCDEF";

bool mustEncode(unsigned char c)
{
    return c < 0x20 || c == 0x7F || c == '%' || c == '#' || c == '!' || c == '[' || c == ']' || c == '+'
        || c == '@';
}

int hexValue(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

/// Length of the valid UTF-8 sequence at the front of `text`, 0 when there is none.
size_t sequenceLength(std::string_view text)
{
    const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
    const auto continues = [&](size_t i) { return i < text.size() && (byte(i) & 0xC0) == 0x80; };
    const unsigned char first = byte(0);
    if (first < 0x80)
        return 1;
    if (first >= 0xC2 && first <= 0xDF)
        return continues(1) ? 2 : 0;
    if (first >= 0xE0 && first <= 0xEF) {
        if (!continues(1) || !continues(2))
            return 0;
        if (first == 0xE0 && byte(1) < 0xA0)
            return 0;
        if (first == 0xED && byte(1) >= 0xA0) // surrogates
            return 0;
        return 3;
    }
    if (first >= 0xF0 && first <= 0xF4) {
        if (!continues(1) || !continues(2) || !continues(3))
            return 0;
        if ((first == 0xF0 && byte(1) < 0x90) || (first == 0xF4 && byte(1) >= 0x90))
            return 0;
        return 4;
    }
    return 0;
}

} // namespace

std::string percentEncode(std::string_view raw)
{
    std::string out;
    out.reserve(raw.size());
    for (const char c : raw) {
        const auto byte = static_cast<unsigned char>(c);
        if (mustEncode(byte)) {
            out += '%';
            out += kHexDigits[byte >> 4];
            out += kHexDigits[byte & 15];
        } else {
            out += c;
        }
    }
    return out;
}

std::optional<std::string> percentDecode(std::string_view text)
{
    std::string out;
    out.reserve(text.size());
    for (size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '%') {
            out += text[i];
            continue;
        }
        if (i + 2 >= text.size())
            return std::nullopt;
        const int high = hexValue(text[i + 1]);
        const int low = hexValue(text[i + 2]);
        if (high < 0 || low < 0)
            return std::nullopt;
        out += static_cast<char>(high * 16 + low);
        i += 2;
    }
    return out;
}

bool isValidUtf8(std::string_view text)
{
    while (!text.empty()) {
        const size_t length = sequenceLength(text);
        if (length == 0)
            return false;
        text.remove_prefix(length);
    }
    return true;
}

std::string toValidUtf8(std::string_view text)
{
    std::string out;
    out.reserve(text.size());
    while (!text.empty()) {
        const size_t length = sequenceLength(text);
        if (length == 0) {
            out += "\xEF\xBF\xBD";
            text.remove_prefix(1);
        } else {
            out += text.substr(0, length);
            text.remove_prefix(length);
        }
    }
    return out;
}

std::string toHex(std::string_view bytes)
{
    static constexpr std::string_view kLower = "0123456789abcdef";
    std::string out;
    out.reserve(bytes.size() * 2);
    for (const char c : bytes) {
        const auto byte = static_cast<unsigned char>(c);
        out += kLower[byte >> 4];
        out += kLower[byte & 15];
    }
    return out;
}

namespace {

bool isDigit(char byte)
{
    return byte >= '0' && byte <= '9';
}

size_t digitsEnd(std::string_view text, size_t begin)
{
    while (begin < text.size() && isDigit(text[begin]))
        ++begin;
    return begin;
}

/// Of two runs of digits, by value.
int compareValues(std::string_view left, std::string_view right)
{
    left.remove_prefix(std::min(left.find_first_not_of('0'), left.size()));
    right.remove_prefix(std::min(right.find_first_not_of('0'), right.size()));
    if (left.size() != right.size())
        return left.size() < right.size() ? -1 : 1;
    return left.compare(right);
}

} // namespace

int compareNaturally(std::string_view left, std::string_view right)
{
    const size_t shorter = std::min(left.size(), right.size());
    const auto differs = static_cast<size_t>(
        std::mismatch(left.begin(), left.begin() + static_cast<ptrdiff_t>(shorter), right.begin()).first
        - left.begin());
    // A number that differs somewhere differs as a whole.
    size_t begin = differs;
    while (begin > 0 && isDigit(left[begin - 1]))
        --begin;
    const size_t leftEnd = digitsEnd(left, begin);
    const size_t rightEnd = digitsEnd(right, begin);
    if (leftEnd > begin && rightEnd > begin) {
        const int byValue
            = compareValues(left.substr(begin, leftEnd - begin), right.substr(begin, rightEnd - begin));
        if (byValue != 0)
            return byValue;
        if (differs < std::max(leftEnd, rightEnd)) { // leading zeros
            const int rest = compareNaturally(left.substr(leftEnd), right.substr(rightEnd));
            return rest != 0 ? rest : left.compare(right);
        }
    }
    return left.substr(differs).compare(right.substr(differs));
}

std::string formatBytes(uint64_t bytes)
{
    static constexpr std::array kUnits{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    if (bytes < 1024)
        return std::to_string(bytes) + " B";
    auto value = static_cast<double>(bytes);
    size_t unit = 0;
    while (value >= 1024 && unit + 1 < kUnits.size()) {
        value /= 1024;
        ++unit;
    }
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%.1f %s", value, kUnits[unit]);
    return text.data();
}

std::string formatCount(uint64_t count)
{
    std::string digits = std::to_string(count);
    for (size_t i = digits.size(); i > 3; i -= 3)
        digits.insert(i - 3, ",");
    return digits;
}

std::optional<uint64_t> parseBytes(std::string_view text)
{
    double number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || !(number >= 0))
        return std::nullopt;
    std::string unit(end, text.data() + text.size());
    for (char& c : unit)
        c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    while (!unit.empty() && unit.front() == ' ')
        unit.erase(0, 1);
    if (unit.ends_with("IB"))
        unit.resize(unit.size() - 2);
    else if (unit.ends_with("B"))
        unit.resize(unit.size() - 1);
    static constexpr std::string_view kPrefixes = "KMGTPE";
    double factor = 1;
    if (!unit.empty()) {
        const size_t at = unit.size() == 1 ? kPrefixes.find(unit[0]) : std::string_view::npos;
        if (at == std::string_view::npos)
            return std::nullopt;
        factor = std::pow(1024.0, static_cast<double>(at + 1));
    }
    const double bytes = number * factor;
    if (bytes >= 18446744073709551615.0)
        return std::nullopt;
    return static_cast<uint64_t>(bytes);
}

} // namespace shardscope
