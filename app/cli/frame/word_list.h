// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/cli/frame/arguments.h"

#include <string>
#include <string_view>
#include <vector>

namespace shardscope::cli {

/// The words of a repeatable option that takes several words, separated by commas.
std::vector<std::string> wordsAsked(const Arguments& arguments, const char* option);
/// The same for findings, by code or letter, or the word `also`. Error: Usage, with the nearest known
/// finding.
Result<std::vector<std::string>> findingsAsked(
    const Arguments& arguments, const char* option, std::string_view also = {});

} // namespace shardscope::cli
