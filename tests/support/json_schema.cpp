// SPDX-License-Identifier: Apache-2.0
#include "tests/support/json_schema.h"

#include <algorithm>
#include <set>

namespace shardscope::test {

namespace {

using Json = nlohmann::json;

bool hasType(const Json& value, const std::string& type)
{
    if (type == "null")
        return value.is_null();
    if (type == "boolean")
        return value.is_boolean();
    if (type == "integer")
        return value.is_number_integer();
    if (type == "number")
        return value.is_number();
    if (type == "string")
        return value.is_string();
    if (type == "array")
        return value.is_array();
    return type == "object" && value.is_object();
}

class Validator
{
public:
    Validator(const Json& root, bool closed)
        : m_root(root)
        , m_closed(closed)
    {
    }

    void check(const Json& schema, const Json& value, const std::string& place,
        std::vector<std::string>& errors) const
    {
        checkKeywords(schema, place, errors);
        if (schema.contains("$ref")) {
            static const std::string kPrefix = "#/$defs/";
            const auto name = schema.at("$ref").get<std::string>();
            if (!name.starts_with(kPrefix) || !m_root.at("$defs").contains(name.substr(kPrefix.size())))
                errors.push_back(place + ": the schema refers to " + name + ", which is not there");
            else
                check(m_root.at("$defs").at(name.substr(kPrefix.size())), value, place, errors);
        }
        checkType(schema, value, place, errors);
        if (schema.contains("const") && schema.at("const") != value)
            errors.push_back(place + ": is " + value.dump() + ", not " + schema.at("const").dump());
        if (schema.contains("enum")) {
            const Json& choices = schema.at("enum");
            if (std::find(choices.begin(), choices.end(), value) == choices.end())
                errors.push_back(place + ": " + value.dump() + " is none of " + choices.dump());
        }
        if (schema.contains("minimum") && value.is_number() && value < schema.at("minimum"))
            errors.push_back(place + ": is less than " + schema.at("minimum").dump());
        if (schema.contains("maximum") && value.is_number() && value > schema.at("maximum"))
            errors.push_back(place + ": is more than " + schema.at("maximum").dump());
        checkOneOf(schema, value, place, errors);
        if (value.is_object())
            checkObject(schema, value, place, errors);
        if (value.is_array() && schema.contains("items")) {
            for (size_t i = 0; i < value.size(); ++i)
                check(schema.at("items"), value[i], place + "/" + std::to_string(i), errors);
        }
    }

private:
    static void checkKeywords(const Json& schema, const std::string& place, std::vector<std::string>& errors)
    {
        static const std::set<std::string> kKnown{"$schema", "$id", "$defs", "$ref", "title", "description",
            "type", "properties", "required", "items", "enum", "const", "additionalProperties", "oneOf",
            "minimum", "maximum"};
        for (const auto& [keyword, ignored] : schema.items()) {
            if (!kKnown.contains(keyword))
                errors.push_back(place + ": the schema has the unknown keyword " + keyword);
        }
    }

    static void checkType(
        const Json& schema, const Json& value, const std::string& place, std::vector<std::string>& errors)
    {
        if (!schema.contains("type"))
            return;
        const Json& type = schema.at("type");
        const Json types = type.is_array() ? type : Json::array({type});
        if (std::none_of(types.begin(), types.end(),
                [&](const Json& one) { return hasType(value, one.get<std::string>()); }))
            errors.push_back(place + ": is " + std::string(value.type_name()) + ", not " + type.dump());
    }

    void checkOneOf(const Json& schema, const Json& value, const std::string& place,
        std::vector<std::string>& errors) const
    {
        if (!schema.contains("oneOf"))
            return;
        const Json& ways = schema.at("oneOf");
        const auto fits = std::count_if(ways.begin(), ways.end(), [&](const Json& way) {
            std::vector<std::string> own;
            check(way, value, place, own);
            return own.empty();
        });
        if (fits != 1)
            errors.push_back(
                place + ": " + value.dump() + " fits " + std::to_string(fits) + " of the forms, not one");
    }

    void checkObject(const Json& schema, const Json& value, const std::string& place,
        std::vector<std::string>& errors) const
    {
        const Json none = Json::object();
        const Json& properties = schema.contains("properties") ? schema.at("properties") : none;
        if (schema.contains("required")) {
            for (const Json& name : schema.at("required")) {
                if (!value.contains(name.get<std::string>()))
                    errors.push_back(place + ": lacks " + name.get<std::string>());
            }
        }
        for (const auto& [name, property] : value.items()) {
            const std::string inner = place + "/" + name;
            if (properties.contains(name))
                check(properties.at(name), property, inner, errors);
            else if (schema.contains("additionalProperties"))
                check(schema.at("additionalProperties"), property, inner, errors);
            else if (m_closed && schema.contains("properties"))
                errors.push_back(inner + ": is not described");
        }
    }

    const Json& m_root;
    bool m_closed;
};

} // namespace

std::vector<std::string> schemaErrors(const Json& schema, const Json& document, bool closed)
{
    std::vector<std::string> errors;
    Validator(schema, closed).check(schema, document, "", errors);
    return errors;
}

} // namespace shardscope::test
