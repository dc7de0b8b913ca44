// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/text.h"

#include <string>

namespace shardscope {

/// A text in the description of a plan, as JsonOut::name() writes it. `Json` is nlohmann's type.
template <class Json>
void putText(Json& object, const std::string& key, const std::string& raw)
{
    object[key] = toValidUtf8(raw);
    if (!isValidUtf8(raw))
        object[key + "_hex"] = toHex(raw);
}

} // namespace shardscope
