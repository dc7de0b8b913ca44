// SPDX-License-Identifier: Apache-2.0
#pragma once

// Folder app/cli/frame: the command line as data, with parser, help, completion, exit statuses and standard
// streams; it includes no verb. Start with Command.

#include "core/base/result.h"
#include "core/describe/option.h"

#include <string>
#include <string_view>
#include <vector>

namespace shardscope::cli {

class Session;

struct Positional {
    std::string name = {}; ///< "PATH"
    ValueKind kind = ValueKind::Path;
    std::string help = {};
    bool required = true;
    std::vector<std::string> choices = {};
    bool repeats = false; ///< takes all words that follow; only for the last argument
};

struct Example {
    std::string line = {};
    std::string says = {};
};

/// One verb, or the program itself, or a verb below a verb, as data. The parser, the help, the shell
/// completions and the suggestions for typing errors use it.
struct Command {
    std::string name = {};
    std::string summary = {}; ///< one line, no full stop
    std::vector<std::string> description = {}; ///< paragraphs
    std::vector<Positional> positionals = {};
    std::vector<Option> options = {};
    std::vector<Option> commonOptions = {}; ///< those that every verb has
    std::vector<Example> examples = {};
    std::vector<Command> children = {};
    /// Returns the exit code or an error. Null for commands that only have children.
    Result<int> (*run)(Session& session) = nullptr;
    /// Whether it needs values, which a skeleton does not have: always, or except in a dry run.
    enum class Values { NotNeeded, ToRun, Needed } values = Values::NotNeeded;
    /// Writes a checkpoint and can be interrupted and continued.
    bool resumes = false;
    /// Writes nothing but the files that its options name.
    bool reads = false;
    /// Writes nothing but checkpoints and exports, so that it can run as a job of its own on another host.
    bool isJob = false;
};

/// The whole command line: `shardscope` with its verbs as children.
const Command& program();

} // namespace shardscope::cli
