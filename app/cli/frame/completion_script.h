// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/cli/frame/command.h"

#include <string>

namespace shardscope::cli {

/// Completion scripts, generated from the command tree that the parser uses.
std::string bashCompletion(const Command& program);
std::string zshCompletion(const Command& program);
std::string fishCompletion(const Command& program);

} // namespace shardscope::cli
