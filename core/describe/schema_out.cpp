// SPDX-License-Identifier: Apache-2.0
#include "core/describe/schema_out.h"

#include "core/describe/json_writer.h"

#include <algorithm>

namespace shardscope {

namespace {

constexpr std::string_view kNull = R"({"type":"null"})";
constexpr const char* kHexText = "the name's bytes as hex, if they are not valid UTF-8";

std::string quoted(std::string_view text)
{
    return jsonText([&](JsonWriter& json) { json.value(text); });
}

std::string enumOf(const std::vector<std::string_view>& words, bool orNull)
{
    return jsonText([&](JsonWriter& json) {
        json.beginObject();
        json.arrayField("enum");
        for (const std::string_view word : words)
            json.value(word);
        if (orNull)
            json.null();
        json.endArray();
        json.endObject();
    });
}

std::string withLimits(std::string type, const About& about)
{
    if (about.minimum)
        type += ",\"minimum\":" + std::to_string(*about.minimum);
    if (about.maximum)
        type += ",\"maximum\":" + std::to_string(*about.maximum);
    return type + "}";
}

/// The same JSON on many lines, for people who read the file.
std::string indented(std::string_view json)
{
    std::string out;
    size_t depth = 0;
    bool inText = false;
    const auto newLine = [&] { out += "\n" + std::string(2 * depth, ' '); };
    for (size_t i = 0; i < json.size(); ++i) {
        const char c = json[i];
        if (c == '"')
            inText = !inText;
        if (!inText && (c == '}' || c == ']')) {
            --depth;
            newLine();
        }
        out += c;
        if (inText && c == '\\')
            out += json[++i];
        if (inText)
            continue;
        if (c == '{' || c == '[')
            ++depth;
        if (c == '{' || c == '[' || c == ',')
            newLine();
        else if (c == ':')
            out += ' ';
    }
    return out + "\n";
}

} // namespace

void SchemaOut::answer(std::string_view verb, std::string_view title, std::string_view text)
{
    is(title, text);
    add("schema", R"({"const":"shardscope/)" + std::string(verb) + R"(/1"})", {});
}

void SchemaOut::is(std::string_view title, std::string_view text)
{
    if (!m_title.empty())
        return;
    m_title = title;
    m_text = text;
}

void SchemaOut::name(std::string_view name, std::string_view /*raw*/, const About& about)
{
    add(name, typeOf<std::string>(about), about);
    maybe(true, [&] { add(std::string(name) + "_hex", typeOf<std::string>(about), kHexText); });
}

void SchemaOut::nameOrNull(std::string_view name, std::string_view raw, const About& about)
{
    this->name(name, raw, about);
    textOrNull(name, raw, about);
}

void SchemaOut::textOrNull(std::string_view name, std::string_view /*text*/, const About& about)
{
    add(name, orNull(typeOf<std::string>(about)), about);
}

void SchemaOut::addWords(
    std::string_view name, const std::vector<std::string_view>& words, bool orNull, const About& about)
{
    add(name, enumOf(words, orNull), about);
}

std::string SchemaOut::numberType(const About& about)
{
    const std::string number = withLimits(R"({"type":"number")", about);
    return about.finite ? number : R"({"oneOf":[)" + number + R"(,{"enum":["nan","inf","-inf"]}]})";
}

std::string SchemaOut::integerType(bool isUnsigned, const About& about)
{
    About limits = about;
    if (isUnsigned && !limits.minimum)
        limits.minimum = 0;
    return withLimits(R"({"type":"integer")", limits);
}

std::string SchemaOut::arrayOf(const std::string& item)
{
    return R"({"type":"array","items":)" + item + "}";
}

std::string SchemaOut::orNull(const std::string& type)
{
    constexpr std::string_view kType = R"({"type":")";
    if (type.starts_with(kType)) { // a list of types is shorter to read
        const size_t end = type.find('"', kType.size());
        return R"({"type":[")" + type.substr(kType.size(), end - kType.size()) + R"(","null"])"
            + type.substr(end + 1);
    }
    constexpr std::string_view kOneOf = R"({"oneOf":[)";
    if (type.starts_with(kOneOf))
        return type.substr(0, type.size() - 2) + "," + std::string(kNull) + "]}";
    return std::string(kOneOf) + type + "," + std::string(kNull) + "]}";
}

void SchemaOut::add(std::string_view name, std::string type, const About& about)
{
    if (!about.text.empty())
        type = type.substr(0, type.size() - 1) + ",\"description\":" + quoted(about.text) + "}";
    const auto known = std::ranges::find(
        m_properties, name, [](const auto& property) -> std::string_view { return property.first; });
    if (known != m_properties.end()) {
        known->second = std::move(type);
        return;
    }
    m_properties.emplace_back(name, std::move(type));
    m_required.emplace_back(name);
}

std::string SchemaOut::reference() const
{
    if (m_title.empty())
        return text({});
    m_definitions[m_title] = text({});
    return R"({"$ref":"#/$defs/)" + m_title + R"("})";
}

std::string SchemaOut::text(std::string_view id) const
{
    return jsonText([&](JsonWriter& json) {
        json.beginObject();
        if (!id.empty()) {
            json.field("$schema", "https://json-schema.org/draft/2020-12/schema");
            json.field("$id", "urn:shardscope:" + std::string(id) + ":1");
        }
        if (!m_title.empty()) {
            json.field("title", m_title);
            json.field("description", m_text);
        }
        json.field("type", "object");
        json.objectField("properties");
        for (const auto& [name, type] : m_properties)
            json.rawField(name, type);
        json.endObject();
        if (!m_required.empty())
            json.textList("required", m_required);
        if (!m_ways.empty()) {
            json.arrayField("oneOf");
            for (const Names& way : m_ways) {
                json.beginObject();
                json.textList("required", way);
                json.endObject();
            }
            json.endArray();
        }
        if (!id.empty() && !m_definitions.empty()) {
            json.objectField("$defs");
            for (const auto& [title, definition] : m_definitions)
                json.rawField(title, definition);
            json.endObject();
        }
        json.endObject();
    });
}

std::string SchemaOut::document(std::string_view id) const
{
    return indented(text(id));
}

} // namespace shardscope
