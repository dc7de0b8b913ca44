// SPDX-License-Identifier: Apache-2.0
#include "core/describe/schema_out.h"

#include "core/describe/json_writer.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace shardscope {

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kHexText = "the name's bytes as hex, if they are not valid UTF-8";

Json withLimits(const char* type, const About& about)
{
    Json out{{"type", type}};
    if (about.minimum)
        out["minimum"] = *about.minimum;
    if (about.maximum)
        out["maximum"] = *about.maximum;
    return out;
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
    Json type{{"enum", words}};
    if (orNull)
        type["enum"].push_back(nullptr);
    add(name, type.dump(), about);
}

std::string SchemaOut::numberType(const About& about)
{
    const Json number = withLimits("number", about);
    if (about.finite)
        return number.dump();
    return Json{{"oneOf", {number, {{"enum", {"nan", "inf", "-inf"}}}}}}.dump();
}

std::string SchemaOut::integerType(bool isUnsigned, const About& about)
{
    About limits = about;
    if (isUnsigned && !limits.minimum)
        limits.minimum = 0;
    return withLimits("integer", limits).dump();
}

std::string SchemaOut::oneOfTypes(const std::vector<std::string>& types)
{
    Json out{{"oneOf", Json::array()}};
    for (const std::string& type : types)
        out["oneOf"].push_back(Json::parse(type));
    return out.dump();
}

std::string SchemaOut::arrayOf(const std::string& item)
{
    return R"({"type":"array","items":)" + item + "}";
}

std::string SchemaOut::orNull(const std::string& type)
{
    Json out = Json::parse(type);
    const Json null{{"type", "null"}};
    if (out.contains("type")) // a list of types is shorter to read
        out["type"] = {out["type"], "null"};
    else if (out.contains("oneOf"))
        out["oneOf"].push_back(null);
    else
        out = {{"oneOf", {out, null}}};
    return out.dump();
}

void SchemaOut::add(std::string_view name, std::string type, const About& about)
{
    if (!about.text.empty()) {
        Json with = Json::parse(type);
        with["description"] = about.text;
        type = with.dump();
    }
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
    return Json::parse(text(id)).dump(2) + "\n";
}

} // namespace shardscope
