// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/cli/frame/command.h"
#include "core/report/text/text_table.h"

#include <string>
#include <string_view>
#include <vector>

namespace shardscope::cli {

/// "shardscope plan reshard"
std::string commandLine(const std::vector<const Command*>& path);
/// "plan reshard"; "shardscope" for the program itself.
std::string commandName(const std::vector<const Command*>& path);
/// "shardscope reshard SRC DST --world-size N [OPTIONS]"
std::string synopsis(const std::vector<const Command*>& path);
/// "-t, --tag TAG"
std::string optionTerm(const Option& option);
/// Its help, with the choices if the help does not name them.
std::string optionHelp(const Option& option);

/// The text of `--help`: name, synopsis, description, arguments, options, examples, exit status.
/// Lines have at most `width` columns, except for longer words.
void writeHelp(
    const TextSink& sink, const TextStyle& style, const std::vector<const Command*>& path, size_t width);
/// The commands below the last one of `path`, with a summary each.
void writeCommandList(
    const TextSink& sink, const TextStyle& style, const std::vector<const Command*>& path, size_t width);

/// The object of `help TOPIC --json`.
void writeHelpJson(
    const TextSink& sink, std::string_view topic, std::string_view title, std::string_view text);
/// The object of `COMMAND --help --json`, with the text of --help.
void writeHelpJson(const TextSink& sink, const std::vector<const Command*>& path);
/// The list of the manual's pages.
void writeTopicsJson(const TextSink& sink);
std::string helpSchema();

} // namespace shardscope::cli
