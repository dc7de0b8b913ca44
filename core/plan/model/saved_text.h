// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/text.h"

#include <string>

namespace shardscope {

/// Texts in the JSON of saved plans. Names and paths are bytes: bytes that are not UTF-8 are stored as hex,
/// so that they are restored exactly. `Json` is nlohmann's type. getText() throws its exception if the key is
/// absent or not a string.
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
    if (!object.contains(key + "_hex"))
        return object.at(key).template get<std::string>();
    const auto hex = object.at(key + "_hex").template get<std::string>();
    std::string escaped;
    for (size_t i = 0; i + 1 < hex.size(); i += 2)
        escaped += "%" + hex.substr(i, 2);
    return percentDecode(escaped).value_or(std::string());
}

} // namespace shardscope
