// SPDX-License-Identifier: Apache-2.0
#include "core/describe/option.h"

#include <algorithm>
#include <concepts>

namespace shardscope {

namespace {

using Values = std::vector<std::string>;

template <std::unsigned_integral Number>
Values textsOf(Number number)
{
    return number == 0 ? Values{} : Values{std::to_string(number)};
}

template <class Number>
Values textsOf(const std::optional<Number>& number)
{
    return number ? Values{std::to_string(*number)} : Values{};
}

Values textsOf(const std::string& text)
{
    return text.empty() ? Values{} : Values{text};
}

Values textsOf(const std::optional<std::string>& text)
{
    return text ? Values{*text} : Values{};
}

Values textsOf(const Values& texts)
{
    return texts;
}

Values textsOf(const std::vector<uint32_t>& numbers)
{
    Values out;
    for (const uint32_t number : numbers)
        out.push_back(std::to_string(number));
    return out;
}

Values textsOf(const TextPairs& pairs)
{
    Values out;
    for (const auto& [from, to] : pairs)
        out.push_back(from + "=" + to);
    return out;
}

/// The values as words; none if it is not set. A flag that is set has one empty word.
Values textsOf(const OptionField& field)
{
    return std::visit(
        [&](const auto& value) {
            using T = std::remove_cvref_t<decltype(value)>;
            if constexpr (std::is_same_v<T, OptionWord>)
                return textsOf(value.get());
            else if constexpr (std::is_same_v<T, bool*>)
                return *value != field.inverse ? Values{{}} : Values{};
            else
                return textsOf(*value);
        },
        field.value);
}

bool isNarrow(const OptionValue& value)
{
    return std::holds_alternative<uint32_t*>(value)
        || std::holds_alternative<std::optional<uint32_t>*>(value);
}

std::string joined(const Values& words)
{
    std::string out;
    for (const std::string& word : words)
        out += (out.empty() ? "" : ",") + word;
    return out;
}

} // namespace

std::vector<Option> optionsOf(const OptionFields& fields)
{
    std::vector<Option> out;
    for (const OptionField& field : fields) {
        if (field.option.name.empty())
            continue;
        Option& option = out.emplace_back(field.option);
        if (isNarrow(field.value))
            option.maximum = std::min<uint64_t>(option.maximum, std::numeric_limits<uint32_t>::max());
    }
    return out;
}

std::vector<std::pair<std::string, std::optional<std::string>>> wordsOf(const OptionFields& fields)
{
    std::vector<std::pair<std::string, std::optional<std::string>>> out;
    for (const OptionField& field : fields) {
        const Option& option = field.option;
        if (option.name.empty() || option.kind == ValueKind::File)
            continue;
        Values values = textsOf(field);
        if (field.commas && !values.empty())
            values = {joined(values)};
        for (std::string& value : values) {
            const bool isChoice
                = option.choices.empty() || std::ranges::find(option.choices, value) != option.choices.end();
            if (option.kind == ValueKind::Flag)
                out.emplace_back(option.name, std::nullopt);
            else if (value != field.fallback && isChoice)
                out.emplace_back(option.name, std::move(value));
        }
    }
    return out;
}

std::string idText(const OptionFields& fields)
{
    std::string out;
    for (const OptionField& field : fields) {
        if (field.inFacts)
            continue;
        // Of several texts, each says where it ends.
        const bool hasLengths
            = std::holds_alternative<Values*>(field.value) || std::holds_alternative<TextPairs*>(field.value);
        for (const std::string& value : textsOf(field)) {
            out += field.idMark ? std::string(*field.idMark) : "|" + std::string(field.key) + "=";
            out += (hasLengths ? std::to_string(value.size()) + ":" : std::string()) + value;
        }
    }
    return out;
}

} // namespace shardscope
