// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QString>

#include <optional>
#include <string>
#include <vector>

namespace shardscope::ui {

/// KEY=VALUE entries with spaces between them. A value is JSON or plain text and may hold spaces, too: a
/// space ends it only if another entry begins after it, outside quotation marks and brackets. Empty result if
/// the text is not empty and does not begin with an entry.
std::optional<std::vector<std::string>> configEntries(const QString& text);

} // namespace shardscope::ui
