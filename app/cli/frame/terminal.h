// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>

namespace shardscope::cli {

/// The columns of the terminal of a descriptor: COLUMNS, else the terminal's own answer. Empty if there is
/// no terminal or the width is unknown.
std::optional<size_t> terminalColumns(int descriptor);
/// True when the terminal of a descriptor supports control codes: TERM is set and not `dumb`.
bool takesControlCodes(int descriptor);
/// The width for running text: that of the terminal, but 40 to 96 columns; 96 without a terminal.
size_t textWidth(int descriptor);

} // namespace shardscope::cli
