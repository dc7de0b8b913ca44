// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/cli/frame/arguments.h"
#include "core/base/result.h"

namespace shardscope::cli {

/// Makes what was typed as `[user@]host:path` the far paths of core/far. Unsupported for arguments that
/// cannot be on another host: what is written, and files of this program such as saved plans.
Status takeFarPaths(Parsed& parsed);

} // namespace shardscope::cli
