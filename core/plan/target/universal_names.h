// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/model/file_names.h"

#include <string>
#include <string_view>

namespace shardscope {

/// Names inside a universal folder (deepspeed/checkpoint/ds_to_universal.py): a parameter's name is a
/// folder's, verbatim. A name with slashes is a path of folders, as os.path.join() makes it.
inline std::string universalOptimName()
{
    return std::string(kUniversalOptimizer);
}
inline std::string universalStateName(std::string_view param, std::string_view state)
{
    return std::string(kUniversalFolder) + "/" + std::string(param) + "/" + std::string(state) + ".pt";
}

/// Refused for a name that is no path below zero/: with a part between slashes that is empty, ".", "..",
/// longer than 255 bytes or has a NUL, so absolute names too; and where files have the name:
/// "optimizer_state.pt", and parts after a slash that end in ".pt".
Status checkUniversalName(std::string_view param);

} // namespace shardscope
