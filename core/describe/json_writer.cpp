// SPDX-License-Identifier: Apache-2.0
#include "core/describe/json_writer.h"

#include "core/base/text.h"

#include <array>
#include <charconv>
#include <cmath>

namespace shardscope {

namespace {

constexpr size_t kBufferBytes = size_t{64} << 10;

} // namespace

JsonWriter::JsonWriter(TextSink sink)
    : m_sink(std::move(sink))
{
}

JsonWriter::~JsonWriter()
{
    finish();
}

void JsonWriter::finish()
{
    if (!m_buffer.empty() && m_sink)
        m_sink(m_buffer);
    m_buffer.clear();
}

void JsonWriter::put(std::string_view text)
{
    m_buffer += text;
    if (m_buffer.size() >= kBufferBytes)
        finish();
}

void JsonWriter::separate()
{
    if (m_afterKey) {
        m_afterKey = false;
        return;
    }
    if (m_filled.empty())
        return;
    if (m_filled.back())
        put(",");
    m_filled.back() = true;
}

void JsonWriter::open(char bracket)
{
    separate();
    put(std::string_view(&bracket, 1));
    m_filled.push_back(false);
}

void JsonWriter::close(char bracket)
{
    m_filled.pop_back();
    put(std::string_view(&bracket, 1));
}

void JsonWriter::beginObject()
{
    open('{');
}
void JsonWriter::endObject()
{
    close('}');
}
void JsonWriter::beginArray()
{
    open('[');
}
void JsonWriter::endArray()
{
    close(']');
}

void JsonWriter::key(std::string_view name)
{
    separate();
    quoted(name);
    put(":");
    m_afterKey = true;
}

void JsonWriter::quoted(std::string_view text)
{
    static constexpr std::string_view kHex = "0123456789abcdef";
    std::string valid;
    if (!isValidUtf8(text)) {
        valid = toValidUtf8(text);
        text = valid;
    }
    std::string out = "\"";
    out.reserve(text.size() + 2);
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (c == '"' || c == '\\') {
            out += '\\';
            out += c;
        } else if (c == '\n') {
            out += "\\n";
        } else if (c == '\t') {
            out += "\\t";
        } else if (byte < 0x20 || byte == 0x7F) {
            out += "\\u00";
            out += kHex[byte >> 4];
            out += kHex[byte & 15];
        } else {
            out += c;
        }
    }
    out += '"';
    put(out);
}

void JsonWriter::value(std::string_view text)
{
    separate();
    quoted(text);
}

void JsonWriter::value(double number)
{
    if (std::isnan(number))
        return value("nan");
    if (std::isinf(number))
        return value(number < 0 ? "-inf" : "inf");
    separate();
    std::array<char, 40> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
    const std::string_view text(digits.data(), static_cast<size_t>(end - digits.data()));
    put(text);
    // A float stays a float for every JSON reader: 1.0, not 1.
    if (text.find_first_not_of("-0123456789") == std::string_view::npos)
        put(".0");
}

void JsonWriter::value(bool yes)
{
    separate();
    put(yes ? "true" : "false");
}

void JsonWriter::signedNumber(int64_t number)
{
    separate();
    put(std::to_string(number));
}

void JsonWriter::unsignedNumber(uint64_t number)
{
    separate();
    put(std::to_string(number));
}

void JsonWriter::null()
{
    separate();
    put("null");
}

void JsonWriter::nullField(std::string_view name)
{
    key(name);
    null();
}

void JsonWriter::objectField(std::string_view name)
{
    key(name);
    beginObject();
}

void JsonWriter::arrayField(std::string_view name)
{
    key(name);
    beginArray();
}

void JsonWriter::nameField(std::string_view name, std::string_view raw)
{
    field(name, raw);
    if (!isValidUtf8(raw))
        field(std::string(name) + "_hex", toHex(raw));
}

void JsonWriter::textOrNull(std::string_view name, std::string_view text)
{
    if (text.empty())
        nullField(name);
    else
        field(name, text);
}

void JsonWriter::textList(std::string_view name, const std::vector<std::string>& texts)
{
    arrayField(name);
    for (const std::string& text : texts)
        value(text);
    endArray();
}

void JsonWriter::rawField(std::string_view name, std::string_view json)
{
    key(name);
    separate();
    put(json);
}

std::string jsonText(const std::function<void(JsonWriter&)>& write)
{
    std::string out;
    JsonWriter writer([&](std::string_view piece) { out += piece; });
    write(writer);
    writer.finish();
    return out;
}

} // namespace shardscope
