// SPDX-License-Identifier: Apache-2.0
#include "core/objects/s3/http_client.h"

namespace shardscope::objects {

std::string HttpAnswer::header(std::string_view name) const
{
    for (const auto& [own, value] : headers) {
        if (own == name)
            return value;
    }
    return {};
}

} // namespace shardscope::objects
