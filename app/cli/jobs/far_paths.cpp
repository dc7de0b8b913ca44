// SPDX-License-Identifier: Apache-2.0
#include "app/cli/jobs/far_paths.h"

#include "core/far/far_path.h"

#include <algorithm>

namespace shardscope::cli {

namespace {

bool isPath(ValueKind kind)
{
    return kind == ValueKind::Path || kind == ValueKind::Folder || kind == ValueKind::NewFolder
        || kind == ValueKind::File || kind == ValueKind::NewFile;
}

/// Whether the command reads a checkpoint there, and nothing else.
bool isRead(const Command& command, ValueKind kind)
{
    const bool writesBesideIt = command.name == "clean" || command.name == "ensure";
    return !writesBesideIt && (kind == ValueKind::Path || kind == ValueKind::Folder);
}

/// Each of the values as a path; `what` is the argument or option.
Result<std::vector<std::string>> pathsOf(
    const Command& command, ValueKind kind, const std::string& what, std::vector<std::string> values)
{
    for (std::string& value : values) {
        value = far::typedPath(value);
        const auto there = far::farPathOf(value);
        if (there && !isRead(command, kind))
            return fail(ErrorCode::Unsupported,
                "`" + command.name + "` takes only a path of this machine as " + what, value,
                "run it there: ssh " + far::sshName(there->host) + " shardscope " + command.name + " …");
    }
    return values;
}

} // namespace

Status takeFarPaths(Parsed& parsed)
{
    const Command& command = *parsed.command;
    for (const Positional& positional : command.positionals) {
        if (!isPath(positional.kind))
            continue;
        SHARDSCOPE_TRY(std::vector<std::string> values,
            pathsOf(command, positional.kind, positional.name, parsed.arguments.allOf(positional.name)));
        parsed.arguments.setPositional(positional.name, std::move(values));
    }
    for (const auto* options : {&command.options, &command.commonOptions}) {
        for (const Option& option : *options) {
            if (!isPath(option.kind) || !parsed.arguments.has(option.name))
                continue;
            SHARDSCOPE_TRY(std::vector<std::string> values,
                pathsOf(command, option.kind, option.name, parsed.arguments.all(option.name)));
            parsed.arguments.set(option.name, std::move(values));
        }
    }
    return {};
}

} // namespace shardscope::cli
