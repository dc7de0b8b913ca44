// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>

namespace shardscope::cli {

/// The columns of the terminal behind a descriptor: COLUMNS, else what the terminal says. Nothing where there
/// is no terminal or neither is known.
std::optional<size_t> terminalColumns(int descriptor);
/// Whether the terminal behind a descriptor takes control codes: TERM is set and not `dumb`.
bool takesControlCodes(int descriptor);
/// The width of running text there: that of the terminal, from 40 to 96 columns; 96 without a terminal.
size_t textWidth(int descriptor);

} // namespace shardscope::cli
