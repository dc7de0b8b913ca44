// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/cli/frame/command.h"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace shardscope::cli {

/// The word in front of the words of a command line that asks for completions: the scripts of the shells call
/// `shardscope __complete WORD…`.
inline constexpr std::string_view kCompleteWord = "__complete";

/// What the last of `words` can be, as text for the script: in the first line `files` or `folders` when the
/// shell offers these, else `words`. Each further line has a word and, after a tab, what it means. `words` are
/// those after the program's name, the last one as far as it is typed.
std::string completionsOf(const Command& program, std::span<const std::string> words);

/// The script that makes a shell ask the program; nothing for an unknown shell.
std::optional<std::string> completionScript(std::string_view shell);
std::vector<std::string> completionShells();

} // namespace shardscope::cli
