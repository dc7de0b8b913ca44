// SPDX-License-Identifier: Apache-2.0
#pragma once

// Room core/describe: what is described once, as JSON (JsonOut), from JSON (JsonIn) and as a JSON schema
// (SchemaOut); the options of commands (option.h). Start here.
//
// A described type has a function that names its fields in the order of the JSON:
//
//     void describe(auto& out, const Rank& rank)
//     {
//         out.is("Rank", "A rank: its data, tensor and pipeline parallel number."); // title and text
//         out.field("dp", rank.dp, "what it means");
//     }
//
// A field's type follows from the C++ type: integers, bool, text, double ("nan", "inf" and "-inf" are
// strings), std::optional (or null), ranges (array), ranges of pairs of text and a value (an object with
// these keys), described types. Also:
//
//     describe(out, base)              the fields of another type; the first title counts
//     name, nameOrNull                 a name from a file; NAME_hex follows if it is not UTF-8
//     textOrNull, wordOrNull           null where it is empty
//     word                             an enum with the function of its words, or one of some words
//     object                           an object that is no type of its own
//     list, rows                       an array; `rows` are added as they are found
//     optional, maybe                  fields that can be absent
//     present                          the same, where JsonIn looks whether the named field is there
//     either                           one of two sets of fields
//     oneOf                            an object of one of several types
//     free                             a value that is written by hand
//
// What is read, too, has a function that takes a value or a constant one, `void describe(auto& out,
// ConstOr<Rank> auto& rank)`, and uses only what JsonIn has.
//
// SchemaOut describes default-constructed values and follows every condition, so a describing function must
// be safe on them: it has no index into an empty list.

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <ranges>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace shardscope {

/// What a field means, and which values it can have, for the schema.
struct About {
    std::string_view text;
    std::optional<int64_t> minimum = {};
    std::optional<int64_t> maximum = {};
    bool finite = false; ///< a double is never "nan" or "inf"

    About() = default;
    About(const char* means) // NOLINT: a text alone is the usual case
        : text(means)
    {
    }
};

inline About atLeast(int64_t minimum, const char* text = "")
{
    About out(text);
    out.minimum = minimum;
    out.finite = true;
    return out;
}
inline About between(int64_t minimum, int64_t maximum)
{
    About out = atLeast(minimum);
    out.maximum = maximum;
    return out;
}
inline About finite(const char* text = "")
{
    About out(text);
    out.finite = true;
    return out;
}

/// The type of rows that a function adds one by one.
template <class T>
struct Row {
};
/// The type of a value that is written by hand.
template <class T>
struct As {
};
struct AnyObject { ///< an object with keys from a file
};
struct AnyScalar { ///< a number, text, bool or null
};

/// The describing function of a type, as a row of a list.
inline constexpr auto described = [](auto& out, const auto& value) { describe(out, value); };

template <class T>
concept TextLike = std::convertible_to<T, std::string_view>;

template <class T>
concept OptionalLike = requires
{
    typename T::value_type;
}
&&std::same_as<T, std::optional<typename T::value_type>>;

template <class T, class U>
concept ConstOr = std::same_as<std::remove_const_t<T>, U>;

/// A range of pairs of text and a value: an object with keys that are not known before.
template <class T>
concept Keyed = std::ranges::range<T> && requires(std::ranges::range_value_t<T> item)
{
    {
        item.first
        } -> TextLike;
    item.second;
};

/// The words of an enum, whose first value is 0: as long as the next value has a new word.
template <class E, class NameOf>
std::vector<std::string_view> wordsOf(const NameOf& nameOf)
{
    std::vector<std::string_view> out;
    for (int i = 0;; ++i) {
        const std::string_view word = nameOf(static_cast<E>(i));
        for (const std::string_view known : out) {
            if (known == word)
                return out;
        }
        out.push_back(word);
    }
}

} // namespace shardscope
