// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/describe/describe.h"

#include <map>
#include <variant>

namespace shardscope {

/// Collects what is described as a JSON schema (draft 2020-12). describe.h has the meaning of each function.
///
/// An object with a title becomes an entry of `$defs`. A field that is described twice has its last
/// description.
class SchemaOut
{
public:
    static constexpr bool isSchema = true;
    static constexpr bool isInput = false;
    using Definitions = std::map<std::string, std::string>; ///< by title

    explicit SchemaOut(Definitions& definitions)
        : m_definitions(definitions)
    {
    }

    void answer(std::string_view verb, std::string_view title, std::string_view text);
    void is(std::string_view title, std::string_view text);

    template <class T>
    void field(std::string_view name, const T& /*what*/, const About& about = {})
    {
        add(name, typeOf<T>(about), about);
    }
    template <class T>
    void optional(std::string_view name, const std::optional<T>& /*what*/, const About& about = {})
    {
        maybe(true, [&] { add(name, typeOf<T>(about), about); });
    }
    template <class Fields>
    void object(std::string_view name, const Fields& fields, const About& about = {})
    {
        SchemaOut inner(m_definitions);
        fields(inner);
        add(name, inner.reference(), about);
    }
    void name(std::string_view name, std::string_view raw, const About& about = {});
    void nameOrNull(std::string_view name, std::string_view raw, const About& about = {});
    void textOrNull(std::string_view name, std::string_view text, const About& about = {});
    template <class E, class NameOf>
    requires std::is_enum_v<E>
    void word(std::string_view name, E /*value*/, const NameOf& nameOf, const About& about = {})
    {
        addWords(name, wordsOf<E>(nameOf), false, about);
    }
    template <class Words = std::initializer_list<std::string_view>>
    void word(std::string_view name, std::string_view /*word*/, const Words& words, const About& about = {})
    {
        addWords(name, {words.begin(), words.end()}, false, about);
    }
    template <class Words = std::initializer_list<std::string_view>>
    void wordOrNull(
        std::string_view name, std::string_view /*word*/, const Words& words, const About& about = {})
    {
        addWords(name, {words.begin(), words.end()}, true, about);
    }
    template <std::ranges::range Range, class RowOf>
    void list(std::string_view name, const Range& /*range*/, const RowOf& row, const About& about = {})
    {
        add(name, arrayOf(element<std::ranges::range_value_t<Range>>(row)), about);
    }
    template <class T, class Visit, class RowOf>
    void rows(std::string_view name, Row<T> /*type*/, const Visit& /*visit*/, const RowOf& row,
        const About& about = {})
    {
        add(name, arrayOf(element<T>(row)), about);
    }
    template <class Fields>
    void maybe(bool /*isPresent*/, const Fields& fields)
    {
        fieldsOf(fields);
    }
    template <class Fields>
    void present(std::string_view /*name*/, bool /*isPresent*/, const Fields& fields)
    {
        fieldsOf(fields);
    }
    template <class... T, class Fields>
    void oneOf(std::string_view name, const std::variant<T...>& /*what*/, const Fields& fields)
    {
        add(name, oneOfTypes({element<T>(fields)...}), {});
    }
    template <class First, class Second>
    void either(bool /*isFirst*/, const First& first, const Second& second)
    {
        m_ways = {fieldsOf(first), fieldsOf(second)};
    }
    template <class T, class Write>
    void free(std::string_view name, As<T> /*type*/, const Write& /*write*/, const About& about = {})
    {
        add(name, typeOf<T>(about), about);
    }

    /// The schema as a document, indented. `id`: the verb.
    [[nodiscard]] std::string document(std::string_view id) const;

private:
    using Names = std::vector<std::string>;

    template <class T, class RowOf>
    std::string element(const RowOf& row)
    {
        SchemaOut inner(m_definitions);
        T value{};
        row(inner, value);
        return inner.reference();
    }
    template <class T>
    std::string typeOf(const About& about)
    {
        if constexpr (std::same_as<T, AnyObject>)
            return R"({"type":"object"})";
        else if constexpr (std::same_as<T, AnyScalar>)
            return R"({"type":["number","boolean","string","null"]})";
        else if constexpr (TextLike<T>)
            return R"({"type":"string"})";
        else if constexpr (std::same_as<T, bool>)
            return R"({"type":"boolean"})";
        else if constexpr (std::floating_point<T>)
            return numberType(about);
        else if constexpr (std::integral<T>)
            return integerType(std::unsigned_integral<T>, about);
        else if constexpr (OptionalLike<T>)
            return orNull(typeOf<typename T::value_type>(about));
        else if constexpr (Keyed<T>)
            return R"({"type":"object","additionalProperties":)"
                + typeOf<std::remove_cvref_t<decltype(std::ranges::range_value_t<T>::second)>>(about) + "}";
        else if constexpr (std::ranges::range<T>)
            return arrayOf(typeOf<std::ranges::range_value_t<T>>(about));
        else
            return element<T>(described);
    }
    /// The names of the fields that are required among those that `fields` adds. They become optional.
    template <class Fields>
    Names fieldsOf(const Fields& fields)
    {
        const Names before = std::exchange(m_required, {});
        fields();
        return std::exchange(m_required, before);
    }

    static std::string numberType(const About& about);
    static std::string integerType(bool isUnsigned, const About& about);
    static std::string oneOfTypes(const std::vector<std::string>& types);
    static std::string arrayOf(const std::string& item);
    static std::string orNull(const std::string& type);
    void add(std::string_view name, std::string type, const About& about);
    void addWords(
        std::string_view name, const std::vector<std::string_view>& words, bool orNull, const About& about);
    /// A reference to the entry of `$defs` that the object becomes; the object itself without a title.
    [[nodiscard]] std::string reference() const;
    [[nodiscard]] std::string text(std::string_view id) const;

    Definitions& m_definitions;
    std::string m_title;
    std::string m_text;
    std::vector<std::pair<std::string, std::string>> m_properties;
    Names m_required;
    std::vector<Names> m_ways;
};

/// The schema of an answer, or of another object that is described alone.
template <class Fields>
std::string schemaOf(std::string_view id, const Fields& fields)
{
    SchemaOut::Definitions definitions;
    SchemaOut out(definitions);
    fields(out);
    return out.document(id);
}

} // namespace shardscope
