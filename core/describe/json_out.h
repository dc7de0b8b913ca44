// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/describe/describe.h"
#include "core/describe/json_writer.h"

#include <variant>

namespace shardscope {

/// Writes what is described as JSON, at once. describe.h has the meaning of each function.
class JsonOut
{
public:
    static constexpr bool isSchema = false;
    static constexpr bool isInput = false;

    explicit JsonOut(JsonWriter& json)
        : m_json(json)
    {
    }

    void answer(std::string_view verb, std::string_view /*title*/, std::string_view /*text*/)
    {
        m_json.field("schema", "shardscope/" + std::string(verb) + "/1");
    }
    void is(std::string_view /*title*/, std::string_view /*text*/) { }

    template <class T>
    void field(std::string_view name, const T& what, const About& /*about*/ = {})
    {
        m_json.key(name);
        value(what);
    }
    template <class T>
    void optional(std::string_view name, const std::optional<T>& what, const About& /*about*/ = {})
    {
        if (what)
            field(name, *what);
    }
    template <class Fields>
    void object(std::string_view name, const Fields& fields, const About& /*about*/ = {})
    {
        m_json.objectField(name);
        fields(*this);
        m_json.endObject();
    }
    void name(std::string_view name, std::string_view raw, const About& /*about*/ = {})
    {
        m_json.nameField(name, raw);
    }
    void nameOrNull(std::string_view name, std::string_view raw, const About& /*about*/ = {})
    {
        if (raw.empty())
            m_json.nullField(name);
        else
            m_json.nameField(name, raw);
    }
    void textOrNull(std::string_view name, std::string_view text, const About& /*about*/ = {})
    {
        m_json.textOrNull(name, text);
    }
    template <class E, class NameOf>
    requires std::is_enum_v<E>
    void word(std::string_view name, E value, const NameOf& nameOf, const About& /*about*/ = {})
    {
        m_json.field(name, nameOf(value));
    }
    template <class Words = std::initializer_list<std::string_view>>
    void word(
        std::string_view name, std::string_view word, const Words& /*words*/, const About& /*about*/ = {})
    {
        m_json.field(name, word);
    }
    template <class Words = std::initializer_list<std::string_view>>
    void wordOrNull(
        std::string_view name, std::string_view word, const Words& /*words*/, const About& /*about*/ = {})
    {
        m_json.textOrNull(name, word);
    }
    template <std::ranges::range Range, class RowOf>
    void list(std::string_view name, const Range& range, const RowOf& row, const About& /*about*/ = {})
    {
        m_json.arrayField(name);
        for (const auto& item : range)
            element(item, row);
        m_json.endArray();
    }
    template <class T, class Visit, class RowOf>
    void rows(std::string_view name, Row<T> /*type*/, const Visit& visit, const RowOf& row,
        const About& /*about*/ = {})
    {
        m_json.arrayField(name);
        visit([&](const T& item) { element(item, row); });
        m_json.endArray();
    }
    template <class Fields>
    void maybe(bool isPresent, const Fields& fields)
    {
        if (isPresent)
            fields();
    }
    template <class Fields>
    void present(std::string_view /*name*/, bool isPresent, const Fields& fields)
    {
        maybe(isPresent, fields);
    }
    template <class... T, class Fields>
    void oneOf(std::string_view name, const std::variant<T...>& what, const Fields& fields)
    {
        object(name, [&](JsonOut& out) {
            std::visit([&](auto held) { fields(out, held); }, what); // a copy, because `fields` can also set
        });
    }
    template <class First, class Second>
    void either(bool isFirst, const First& first, const Second& second)
    {
        if (isFirst)
            first();
        else
            second();
    }
    template <class T, class Write>
    void free(std::string_view name, As<T> /*type*/, const Write& write, const About& /*about*/ = {})
    {
        m_json.key(name);
        write(m_json);
    }

    /// A value that is no field.
    template <class T>
    void value(const T& what)
    {
        if constexpr (TextLike<T> || std::is_arithmetic_v<T>) {
            m_json.value(what);
        } else if constexpr (OptionalLike<T>) {
            if (what)
                value(*what);
            else
                m_json.null();
        } else if constexpr (Keyed<T>) {
            m_json.beginObject();
            for (const auto& [key, item] : what) {
                m_json.key(key);
                value(item);
            }
            m_json.endObject();
        } else if constexpr (std::ranges::range<T>) {
            m_json.beginArray();
            for (const auto& item : what)
                value(item);
            m_json.endArray();
        } else {
            element(what, described);
        }
    }

private:
    template <class T, class RowOf>
    void element(const T& what, const RowOf& row)
    {
        m_json.beginObject();
        row(*this, what);
        m_json.endObject();
    }
    JsonWriter& m_json;
};

/// Writes an answer: one object on one line.
template <class Fields>
void writeObject(const TextSink& sink, const Fields& fields)
{
    JsonWriter json(sink);
    json.beginObject();
    JsonOut out(json);
    fields(out);
    json.endObject();
    json.finish();
    sink("\n");
}

/// A file of one object, indented, with a newline at the end.
std::string documentText(const std::function<void(JsonOut&)>& fields);

} // namespace shardscope
