// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/cli/frame/arguments.h"
#include "core/base/result.h"

#include <string>

namespace shardscope::cli {

/// Makes what was typed as `[user@]host:path` the far paths of core/far. Unsupported for arguments that
/// cannot be on another host: files of this program such as saved plans; what is written, unless the command
/// can run there as a job, with all its paths on that host; an object store where it is not only read.
Status takeFarPaths(Parsed& parsed);

/// The host that a command with far paths writes to; empty: this machine.
std::string hostOfTarget(const Parsed& parsed);

/// The host that was typed as `[user@]host:`; empty for nothing. Usage if it is none.
Result<std::string> hostAsked(const std::string& text);

} // namespace shardscope::cli
