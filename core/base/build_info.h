// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace shardscope {

/// What this binary was built from; shown by `--version --json` and in the window's About box.
struct BuildInfo {
    std::string_view version;
    std::string_view commit;
    std::string_view buildType;
    std::string_view sanitizers;
};

BuildInfo buildInfo();

} // namespace shardscope
