// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace shardscope::ui {

/// A sentence of core, which names options and verbs of the command line, with the window's own actions in
/// their place.
std::string windowWords(std::string_view sentence);

/// What is replaced, with what. A test sees that core still says each of them.
std::span<const std::pair<std::string_view, std::string_view>> windowFragments();
/// The same for commands and options that stand alone.
std::span<const std::pair<std::string_view, std::string_view>> windowCommands();
std::span<const std::pair<std::string_view, std::string_view>> windowOptions();

} // namespace shardscope::ui
