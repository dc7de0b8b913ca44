// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace shardscope::ui {

/// A sentence of core, which names options and verbs of the command line, with the window's own actions in
/// their place.
std::string windowWords(std::string_view sentence);

} // namespace shardscope::ui
