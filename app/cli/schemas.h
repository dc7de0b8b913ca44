// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace shardscope::cli {

/// The word that writes the JSON schemas of all answers: `shardscope __schemas FOLDER`. Only the build uses
/// it.
inline constexpr std::string_view kSchemasWord = "__schemas";

/// Writes FOLDER/NAME.json for each; NAME is a verb, "error", "progress" or "version". False if a file cannot
/// be written.
bool writeSchemas(const std::string& folder);

} // namespace shardscope::cli
