// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QString>

#include <optional>
#include <string>
#include <vector>

namespace shardscope::ui {

/// KEY=VALUE entries with spaces between them. A value is JSON or plain text and may hold spaces, too: a
/// space ends it only where another entry begins behind it, outside quotation marks and brackets. Nothing
/// where the text is not empty and does not begin with an entry.
std::optional<std::vector<std::string>> configEntries(const QString& text);

} // namespace shardscope::ui
