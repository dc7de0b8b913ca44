// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/cli/frame/arguments.h"

namespace shardscope::cli {

/// `shardscope WORDS`, quoted for a shell.
std::string asTyped(std::span<const std::string> words);

/// The error, with the nearest name as its hint if one of the words is a path that does not exist.
Error withNearPath(Error error, std::span<const std::string> words);

/// The command to run after the error, quoted for a shell: the same one changed as the hint says or with
/// another target, or one that shows more of what failed. Empty when the hint itself holds a command.
///
/// `parsed` is null when the words could not be parsed. Reads the names of folders to find a free one.
std::string nextCommand(const Error& error, const Parsed* parsed, std::span<const std::string> words);

} // namespace shardscope::cli
