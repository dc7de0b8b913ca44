// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace shardscope::cli {

/// The columns of the terminal of a descriptor: COLUMNS, else the terminal's own answer. Empty if there is
/// no terminal or the width is unknown.
std::optional<size_t> terminalColumns(int descriptor);
/// True when the terminal of a descriptor supports control codes: TERM is set and not `dumb`.
bool takesControlCodes(int descriptor);
/// What makes a terminal copy `text` to the clipboard of the machine in front of the user (OSC 52), through
/// tmux or GNU screen if they run; empty where it is longer than terminals take.
std::string clipboardCodes(std::string_view text);
/// The width for running text: that of the terminal, but 40 to 96 columns; 96 without a terminal.
size_t textWidth(int descriptor);

} // namespace shardscope::cli
