// SPDX-License-Identifier: Apache-2.0
#include "core/describe/json_in.h"

#include "core/base/text.h"

#include <limits>

#include <nlohmann/json.hpp>

namespace shardscope {

namespace {

using Json = nlohmann::json;

const Json& jsonOf(const std::shared_ptr<const void>& value)
{
    static const Json kNull;
    return value == nullptr ? kNull : *static_cast<const Json*>(value.get());
}

/// Bytes from hexadecimal digits.
std::optional<std::string> fromHex(const std::string& hex)
{
    std::string escaped;
    for (size_t i = 0; i + 1 < hex.size(); i += 2)
        escaped += "%" + hex.substr(i, 2);
    return hex.size() % 2 == 0 ? percentDecode(escaped) : std::nullopt;
}

} // namespace

JsonNode JsonNode::parse(std::string_view text, int maxDepth)
{
    const auto isShallow = [&](int depth, Json::parse_event_t, const Json&) { return depth < maxDepth; };
    auto document = std::make_shared<const Json>(Json::parse(text, isShallow, false));
    return document->is_discarded() ? JsonNode() : JsonNode(std::move(document));
}

bool JsonNode::isObjectText(std::string_view text)
{
    const size_t first = text.find_first_not_of(" \t\r\n");
    return first != std::string_view::npos && text[first] == '{' && Json::accept(text);
}

JsonNode JsonNode::at(std::string_view key) const
{
    const Json& json = jsonOf(m_value);
    if (!json.is_object())
        return {};
    const auto found = json.find(key);
    return found == json.end() ? JsonNode() : JsonNode({m_value, &*found});
}

std::vector<JsonNode> JsonNode::items() const
{
    std::vector<JsonNode> out;
    if (isArray()) {
        for (const Json& item : jsonOf(m_value))
            out.push_back(JsonNode({m_value, &item}));
    }
    return out;
}

std::vector<std::pair<std::string, JsonNode>> JsonNode::members() const
{
    std::vector<std::pair<std::string, JsonNode>> out;
    if (isObject()) {
        for (const auto& [key, item] : jsonOf(m_value).items())
            out.emplace_back(key, JsonNode({m_value, &item}));
    }
    return out;
}

bool JsonNode::isArray() const
{
    return jsonOf(m_value).is_array();
}

bool JsonNode::isObject() const
{
    return jsonOf(m_value).is_object();
}

bool JsonNode::isNull() const
{
    return m_value != nullptr && jsonOf(m_value).is_null();
}

std::optional<std::string> JsonNode::text() const
{
    const Json& json = jsonOf(m_value);
    return json.is_string() ? std::optional(json.get<std::string>()) : std::nullopt;
}

std::optional<bool> JsonNode::boolean() const
{
    const Json& json = jsonOf(m_value);
    return json.is_boolean() ? std::optional(json.get<bool>()) : std::nullopt;
}

std::optional<double> JsonNode::number() const
{
    const Json& json = jsonOf(m_value);
    if (json.is_number())
        return json.get<double>();
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    const std::string word = text().value_or("");
    if (word == "nan")
        return std::numeric_limits<double>::quiet_NaN();
    return word == "inf" ? std::optional(kInfinity)
        : word == "-inf" ? std::optional(-kInfinity)
                         : std::nullopt;
}

std::optional<uint64_t> JsonNode::unsignedNumber() const
{
    const Json& json = jsonOf(m_value);
    return json.is_number_unsigned() ? std::optional(json.get<uint64_t>()) : std::nullopt;
}

std::optional<int64_t> JsonNode::signedNumber() const
{
    const Json& json = jsonOf(m_value);
    return json.is_number_integer() && !json.is_number_unsigned() ? std::optional(json.get<int64_t>())
                                                                  : std::nullopt;
}

void JsonIn::name(std::string_view name, std::string& raw, const About& /*about*/)
{
    const std::string hexName = std::string(name) + "_hex";
    if (const JsonNode hex = m_object.at(hexName)) {
        auto bytes = fromHex(hex.text().value_or("?"));
        if (!bytes)
            return refuse(hexName, "is not hexadecimal");
        raw = std::move(*bytes);
    } else {
        field(name, raw);
    }
    if (raw.find('\0') != std::string::npos)
        refuse(name, "has a byte 0");
}

void JsonIn::refuse(std::string_view name, std::string_view why)
{
    if (m_problem.empty())
        m_problem = "`" + std::string(name) + "` " + std::string(why);
}

void JsonIn::value(std::string_view name, const JsonNode& node, std::string& what)
{
    if (auto text = node.text())
        what = std::move(*text);
    else
        refuse(name, node ? "is not a text" : "is missing");
}

void JsonIn::value(std::string_view name, const JsonNode& node, double& what)
{
    if (const auto number = node.number())
        what = *number;
    else
        refuse(name, node ? "is not a number" : "is missing");
}

void JsonIn::value(std::string_view name, const JsonNode& node, bool& what)
{
    if (const auto set = node.boolean())
        what = *set;
    else
        refuse(name, node ? "is not true or false" : "is missing");
}

} // namespace shardscope
