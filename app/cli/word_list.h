// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/cli/arguments.h"

#include <string>
#include <vector>

namespace shardscope::cli {

/// The words of an option that takes several with commas between, and may be repeated.
std::vector<std::string> wordsAsked(const Arguments& arguments, const char* option);

} // namespace shardscope::cli
