// SPDX-License-Identifier: Apache-2.0
#include "core/layout/address.h"

#include "core/layout/fragments.h"

#include <algorithm>

namespace shardscope {

Result<Address> parseAddress(std::string_view text, const Checkpoint& checkpoint)
{
    const auto param = checkpoint.findParam(text);
    if (!param)
        return parseAddress(text);
    const auto states = statesOf(checkpoint, *param);
    const bool hasMaster = std::find(states.begin(), states.end(), "fp32") != states.end();
    return ParamAddress{std::string(text), hasMaster ? "fp32" : "weight", std::nullopt};
}

} // namespace shardscope
