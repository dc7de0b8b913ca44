// SPDX-License-Identifier: Apache-2.0
#include "app/cli/jobs/far_paths.h"

#include "core/far/far_path.h"
#include "core/objects/object_path.h"

#include <algorithm>

namespace shardscope::cli {

namespace {

bool isPath(ValueKind kind)
{
    return kind == ValueKind::Path || kind == ValueKind::Folder || kind == ValueKind::NewFolder
        || kind == ValueKind::File || kind == ValueKind::NewFile;
}

bool isCheckpoint(ValueKind kind)
{
    return kind == ValueKind::Path || kind == ValueKind::Folder;
}

/// A path of the command line.
struct TypedPath {
    std::string what; ///< the argument or option
    ValueKind kind = ValueKind::Path;
    std::string path;
    std::string host; ///< empty: this machine
};

/// `clean` and `ensure` write next to what they read.
bool isTarget(const Command& command, ValueKind kind)
{
    const bool writesBesideIt = command.name == "clean" || command.name == "ensure";
    return kind == ValueKind::NewFolder || kind == ValueKind::NewFile
        || (writesBesideIt && isCheckpoint(kind));
}

std::vector<TypedPath> pathsOf(const Parsed& parsed)
{
    std::vector<TypedPath> out;
    const auto add = [&](const std::string& what, ValueKind kind, const std::vector<std::string>& values) {
        for (const std::string& value : values) {
            const auto there = isPath(kind) ? far::farPathOf(value) : std::nullopt;
            if (isPath(kind))
                out.push_back({what, kind, value, there ? there->host : std::string()});
        }
    };
    for (const Positional& positional : parsed.command->positionals)
        add(positional.name, positional.kind, parsed.arguments.allOf(positional.name));
    for (const auto* options : {&parsed.command->options, &parsed.command->commonOptions}) {
        for (const Option& option : *options)
            add(option.name, option.kind, parsed.arguments.all(option.name));
    }
    return out;
}

Hint runThere(const Command& command, const std::string& host)
{
    return {
        "run it there: ssh " + far::sshName(host) + " shardscope " + command.name + " …", {{Retry::Shown}}};
}

/// Object stores are read, and by this process alone.
Status checkObjects(const Parsed& parsed)
{
    const Command& command = *parsed.command;
    for (const TypedPath& path : pathsOf(parsed)) {
        if (!objects::isObject(path.path))
            continue;
        if (command.name == "clean" || command.name == "ensure")
            return fail(ErrorCode::Unsupported,
                "`" + command.name + "` needs a file system, and this is an object store", path.path,
                "copy the run to a folder first");
        if (isTarget(command, path.kind))
            return fail(ErrorCode::Unsupported,
                "`" + command.name + "` writes nothing to an object store, as " + path.what + " asks",
                path.path, "write to a folder of this machine, and copy the result");
        if (!isCheckpoint(path.kind))
            return fail(ErrorCode::Unsupported,
                "`" + command.name + "` takes only a path of this machine as " + path.what, path.path,
                "copy it to this machine first");
        if (parsed.arguments.has("--mpi"))
            return fail(ErrorCode::Unsupported, "processes of an MPI job read no object store", path.path,
                Hint::omit("--mpi"));
    }
    return {};
}

/// Everything that a job on `host` needs must be there.
Status checkAllThere(const Parsed& parsed, const std::string& host)
{
    const std::string runs = "`" + parsed.command->name + "` runs on " + host + ", where it writes";
    for (const TypedPath& path : pathsOf(parsed)) {
        if (path.kind == ValueKind::File || path.kind == ValueKind::NewFile)
            return fail(ErrorCode::Unsupported, runs + ", and takes no file there as " + path.what, path.path,
                runThere(*parsed.command, host));
        if (path.host != host)
            return fail(ErrorCode::Unsupported,
                runs + ", and " + path.what
                    + (objects::isObject(path.path) ? " is in an object store"
                            : path.host.empty()     ? " is on this machine"
                                                    : " is on another host"),
                path.path,
                Hint("copy it to " + host + " first, or write to this machine and copy the result",
                    {{Retry::Shown}}));
    }
    if (parsed.arguments.has("--mpi"))
        return fail(
            ErrorCode::Unsupported, runs + ", and not with --mpi", {}, runThere(*parsed.command, host));
    return {};
}

void setTyped(std::vector<std::string>& values)
{
    for (std::string& value : values)
        value = far::typedPath(value);
}

} // namespace

std::string hostOfTarget(const Parsed& parsed)
{
    for (const TypedPath& path : pathsOf(parsed)) {
        if (isTarget(*parsed.command, path.kind) && !path.host.empty())
            return path.host;
    }
    return {};
}

Result<std::string> hostAsked(const std::string& text)
{
    const auto there = text.ends_with(':') ? far::farPathOf(text + "/") : std::nullopt;
    if (!there && !text.empty())
        return fail(ErrorCode::Usage, "this is no host", text, "name it as `[user@]host:`");
    return there ? there->host : std::string();
}

Status takeFarPaths(Parsed& parsed)
{
    const Command& command = *parsed.command;
    for (const Positional& positional : command.positionals) {
        auto values = parsed.arguments.allOf(positional.name);
        if (!isPath(positional.kind))
            continue;
        setTyped(values);
        parsed.arguments.setPositional(positional.name, std::move(values));
    }
    for (const auto* options : {&command.options, &command.commonOptions}) {
        for (const Option& option : *options) {
            if (!isPath(option.kind) || !parsed.arguments.has(option.name))
                continue;
            auto values = parsed.arguments.all(option.name);
            setTyped(values);
            parsed.arguments.set(option.name, std::move(values));
        }
    }
    SHARDSCOPE_CHECK(checkObjects(parsed));
    if (const std::string host = hostOfTarget(parsed); command.isJob && !host.empty())
        return checkAllThere(parsed, host);
    for (const TypedPath& path : pathsOf(parsed)) {
        if (!path.host.empty() && (!isCheckpoint(path.kind) || isTarget(command, path.kind)))
            return fail(ErrorCode::Unsupported,
                "`" + command.name + "` takes only a path of this machine as " + path.what, path.path,
                runThere(command, path.host));
    }
    return {};
}

} // namespace shardscope::cli
