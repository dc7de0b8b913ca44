// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/open/open.h"

#include <string>
#include <vector>

namespace shardscope {

/// The arguments of a command that opens the same. Not quoted for a shell.
struct SourceArguments {
    io::Path path; ///< PATH or SRC
    std::vector<std::string> options; ///< --donor, --tag and --root with their values, where they are needed
};
SourceArguments sourceArguments(const io::Path& path, const OpenOptions& options);

} // namespace shardscope
