// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/universal.h"

#include <string>
#include <string_view>

namespace shardscope {

/// Names inside a universal folder (deepspeed/checkpoint/ds_to_universal.py): a parameter's name is a
/// folder's, verbatim.
inline std::string universalOptimName()
{
    return std::string(kUniversalOptimizer);
}
inline std::string universalStateName(std::string_view param, std::string_view state)
{
    return std::string(kUniversalFolder) + "/" + std::string(param) + "/" + std::string(state) + ".pt";
}

/// Refused for a name that no folder can have: empty, ".", "..", longer than 255 bytes, with '/' or NUL; and
/// for "optimizer_state.pt", which a file has.
Status checkUniversalName(std::string_view param);

} // namespace shardscope
