// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/cli/frame/command.h"
#include "core/describe/json_writer.h"

namespace shardscope::cli {

/// The manual page shardscope(1), in the macros of man(7): every command, every option with the commands that
/// take it, and the addresses and environment variables that the manual lists.
void writeManPage(const TextSink& sink, const Command& program);

} // namespace shardscope::cli
