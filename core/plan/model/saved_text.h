// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/text.h"

#include <concepts>
#include <stdexcept>
#include <string>
#include <utility>

namespace shardscope {

/// Texts in the JSON of saved plans. Names and paths are bytes: bytes that are not UTF-8 are stored as hex,
/// so that they are restored exactly. `Json` is nlohmann's type.
///
/// The functions that read throw its exception if the key is absent or of another type, and
/// std::invalid_argument if the value cannot be used; a message names the key.
template <class Json>
void putText(Json& object, const std::string& key, const std::string& raw)
{
    object[key] = toValidUtf8(raw);
    if (!isValidUtf8(raw))
        object[key + "_hex"] = toHex(raw);
}

template <class Json>
std::string getText(const Json& object, const std::string& key)
{
    const auto checked = [&](std::string text) {
        if (text.find('\0') != std::string::npos)
            throw std::invalid_argument("`" + key + "` has a byte 0");
        return text;
    };
    if (!object.contains(key + "_hex"))
        return checked(object.at(key).template get<std::string>());
    const auto hex = object.at(key + "_hex").template get<std::string>();
    std::string escaped;
    for (size_t i = 0; i + 1 < hex.size(); i += 2)
        escaped += "%" + hex.substr(i, 2);
    auto text = percentDecode(escaped);
    if (!text || hex.size() % 2 != 0)
        throw std::invalid_argument("`" + key + "_hex` is not hexadecimal");
    return checked(std::move(*text));
}

/// A whole number that `Number` can hold; JSON has also fractions and numbers of any size.
template <std::integral Number, class Json>
Number numberIn(const Json& value, const std::string& key)
{
    if (value.is_number_unsigned()) {
        if (const auto number = value.template get<uint64_t>(); std::in_range<Number>(number))
            return static_cast<Number>(number);
    } else if (value.is_number_integer()) {
        if (const auto number = value.template get<int64_t>(); std::in_range<Number>(number))
            return static_cast<Number>(number);
    }
    throw std::invalid_argument("`" + key + "` is not a whole number in its range");
}

template <std::integral Number, class Json>
Number getNumber(const Json& object, const std::string& key)
{
    return numberIn<Number>(object.at(key), key);
}

} // namespace shardscope
