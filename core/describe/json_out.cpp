// SPDX-License-Identifier: Apache-2.0
#include "core/describe/json_out.h"

#include <nlohmann/json.hpp>

namespace shardscope {

std::string documentText(const std::function<void(JsonOut&)>& fields)
{
    const std::string text = jsonText([&](JsonWriter& json) {
        json.beginObject();
        JsonOut out(json);
        fields(out);
        json.endObject();
    });
    return nlohmann::ordered_json::parse(text).dump(1) + "\n";
}

} // namespace shardscope
