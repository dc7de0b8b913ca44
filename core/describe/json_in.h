// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/describe/describe.h"

#include <memory>
#include <variant>

namespace shardscope {

/// A value in a parsed JSON text, which owns it together with the other values of the text. Functions that
/// look for what is not there return nothing, and so does everything asked of that.
class JsonNode
{
public:
    /// Nothing if the text is not JSON. Values that are nested deeper than `maxDepth` are dropped: no file of
    /// ours has any, and they cost stack.
    static JsonNode parse(std::string_view text, int maxDepth = 16);

    /// Whether a text is one JSON object. Takes no memory for its values, so for texts of any size.
    static bool isObjectText(std::string_view text);

    JsonNode() = default;
    explicit operator bool() const { return m_value != nullptr; }
    [[nodiscard]] JsonNode at(std::string_view key) const; ///< of an object
    [[nodiscard]] std::vector<JsonNode> items() const; ///< of an array
    [[nodiscard]] std::vector<std::pair<std::string, JsonNode>> members() const; ///< of an object
    [[nodiscard]] bool isArray() const;
    [[nodiscard]] bool isObject() const;
    [[nodiscard]] bool isNull() const;
    [[nodiscard]] std::optional<std::string> text() const;
    [[nodiscard]] std::optional<bool> boolean() const;
    [[nodiscard]] std::optional<double> number() const; ///< also one of the words "nan", "inf" and "-inf"
    /// A whole number that the type can hold; JSON has also fractions, and numbers of any size.
    template <std::integral T>
    [[nodiscard]] std::optional<T> integer() const
    {
        if (const auto number = unsignedNumber(); number && std::in_range<T>(*number))
            return static_cast<T>(*number);
        if (const auto number = signedNumber(); number && std::in_range<T>(*number))
            return static_cast<T>(*number);
        return std::nullopt;
    }

private:
    explicit JsonNode(std::shared_ptr<const void> value)
        : m_value(std::move(value))
    {
    }
    [[nodiscard]] std::optional<uint64_t> unsignedNumber() const;
    [[nodiscard]] std::optional<int64_t> signedNumber() const;

    std::shared_ptr<const void> m_value; ///< of the JSON library
};

/// Reads what is described from JSON. describe.h has the meaning of each function; here they set the values.
///
/// Fields that are not described are ignored. The first value that is missing or cannot be used is named in
/// problem(), and the rest keeps what it had.
class JsonIn
{
public:
    static constexpr bool isSchema = false;
    static constexpr bool isInput = true;

    JsonIn(JsonNode object, std::string& problem)
        : m_object(std::move(object))
        , m_problem(problem)
    {
    }

    void answer(std::string_view /*verb*/, std::string_view /*title*/, std::string_view /*text*/) { }
    void is(std::string_view /*title*/, std::string_view /*text*/) { }

    template <class T>
    void field(std::string_view name, T& what, const About& /*about*/ = {})
    {
        value(name, m_object.at(name), what);
    }
    void name(std::string_view name, std::string& raw, const About& about = {});
    template <class Words>
    void word(std::string_view name, std::string& word, const Words& words, const About& /*about*/ = {})
    {
        field(name, word);
        if (std::ranges::find(words, word) == std::ranges::end(words))
            refuse(name, "has a value that this build does not know");
    }
    template <class E, class NameOf>
    requires std::is_enum_v<E>
    void word(std::string_view name, E& value, const NameOf& nameOf, const About& /*about*/ = {})
    {
        const std::vector<std::string_view> words = wordsOf<E>(nameOf);
        std::string text;
        field(name, text);
        const auto found = std::ranges::find(words, text);
        if (found == words.end())
            return refuse(name, "has a value that this build does not know");
        value = static_cast<E>(found - words.begin());
    }
    template <class Words = std::initializer_list<std::string_view>>
    void wordOrNull(std::string_view name, std::string& word, const Words& words, const About& /*about*/ = {})
    {
        textOrNull(name, word);
        if (!word.empty() && std::ranges::find(words, word) == std::ranges::end(words))
            refuse(name, "has a value that this build does not know");
    }
    void textOrNull(std::string_view name, std::string& text, const About& /*about*/ = {})
    {
        std::optional<std::string> found;
        field(name, found);
        text = found.value_or(std::string());
    }
    void nameOrNull(std::string_view name, std::string& raw, const About& about = {})
    {
        if (m_object.at(name).isNull())
            raw.clear();
        else
            this->name(name, raw, about);
    }
    template <class Fields>
    void object(std::string_view name, const Fields& fields, const About& /*about*/ = {})
    {
        JsonIn inner(m_object.at(name), m_problem);
        if (!inner.m_object.isObject())
            return refuse(name, inner.m_object ? "is not an object" : "is missing");
        fields(inner);
    }
    template <class T, class RowOf>
    void list(std::string_view name, std::vector<T>& range, const RowOf& row, const About& /*about*/ = {})
    {
        const JsonNode array = m_object.at(name);
        if (!array.isArray())
            return refuse(name, array ? "is not a list" : "is missing");
        range.clear();
        for (const JsonNode& item : array.items()) {
            JsonIn inner(item, m_problem);
            row(inner, range.emplace_back());
        }
    }
    template <class Fields>
    void present(std::string_view name, bool /*isPresent*/, const Fields& fields)
    {
        if (m_object.at(name))
            fields();
    }
    /// Reads those of the alternative that the value has now.
    template <class First, class Second>
    void either(bool isFirst, const First& first, const Second& second)
    {
        if (isFirst)
            first();
        else
            second();
    }
    /// Reads the alternative that `what` holds.
    template <class... T, class Fields>
    void oneOf(std::string_view name, std::variant<T...>& what, const Fields& fields)
    {
        object(name, [&](JsonIn& inner) { std::visit([&](auto& held) { fields(inner, held); }, what); });
    }

    /// What is wrong with the field, for people.
    void refuse(std::string_view name, std::string_view why);

private:
    void value(std::string_view name, const JsonNode& node, std::string& what);
    void value(std::string_view name, const JsonNode& node, bool& what);
    void value(std::string_view name, const JsonNode& node, double& what);
    template <std::integral T>
    void value(std::string_view name, const JsonNode& node, T& what)
    {
        if (const auto number = node.integer<T>())
            what = *number;
        else
            refuse(name, node ? "is not a whole number in its range" : "is missing");
    }
    template <class T>
    void value(std::string_view name, const JsonNode& node, std::optional<T>& what)
    {
        what.reset();
        if (!node.isNull())
            value(name, node, what.emplace());
    }
    template <class T>
    void value(std::string_view name, const JsonNode& node, std::vector<T>& what)
    {
        if (!node.isArray())
            return refuse(name, node ? "is not a list" : "is missing");
        what.clear();
        for (const JsonNode& item : node.items())
            value(name, item, what.emplace_back());
    }
    template <class T>
    void value(std::string_view name, const JsonNode& node, std::vector<std::pair<std::string, T>>& what)
    {
        if (!node.isObject())
            return refuse(name, node ? "is not an object" : "is missing");
        what.clear();
        for (const auto& [key, item] : node.members())
            value(name, item, what.emplace_back(key, T()).second);
    }
    /// A described type.
    template <class T>
    requires std::is_class_v<T>
    void value(std::string_view name, const JsonNode& node, T& what)
    {
        if (!node.isObject())
            return refuse(name, node ? "is not an object" : "is missing");
        JsonIn inner(node, m_problem);
        describe(inner, what);
    }

    JsonNode m_object;
    std::string& m_problem;
};

/// Whether a describing function reads: if constexpr (kReads<decltype(out)>).
template <class Out>
inline constexpr bool kReads = std::remove_cvref_t<Out>::isInput;

} // namespace shardscope
