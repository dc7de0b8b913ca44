// SPDX-License-Identifier: Apache-2.0
#include "app/cli/frame/next_command.h"

#include "app/cli/frame/help.h"
#include "core/base/nearest_word.h"
#include "core/base/shell_quote.h"
#include "core/far/far_path.h"
#include "core/objects/object_path.h"

#include <algorithm>
#include <filesystem>

namespace shardscope::cli {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kProgram = "shardscope";

std::string firstOf(const Arguments& arguments, std::initializer_list<std::string_view> names)
{
    for (const std::string_view name : names) {
        if (std::string value = arguments.positional(name); !value.empty())
            return value;
    }
    return {};
}

/// The checkpoint that the verb reads; empty for `run`, which reads a plan.
std::string sourceOf(const Arguments& arguments)
{
    return firstOf(arguments, {"SRC", "PATH", "RUN"});
}

std::string targetOf(const Arguments& arguments)
{
    return firstOf(arguments, {"DST", "OUT"});
}

/// PATH-2, or the first number after it that is free: run becomes run-2, and the files out.zip and plan.json
/// become out-2.zip and plan-2.json.
std::string freeName(const std::string& path)
{
    fs::path plain = path;
    if (!plain.has_filename())
        plain = plain.parent_path();
    std::error_code unknown;
    const bool isFile = plain.extension() == ".zip" || fs::is_regular_file(plain, unknown);
    const std::string ending = isFile ? plain.extension().string() : std::string();
    const std::string stem = isFile ? plain.stem().string() : plain.filename().string();
    constexpr int kMostNumbers = 1000;
    for (int number = 2; number < kMostNumbers; ++number) {
        const fs::path candidate = plain.parent_path() / (stem + "-" + std::to_string(number) + ending);
        std::error_code error;
        if (!fs::exists(fs::symlink_status(candidate, error)))
            return candidate.string();
    }
    return {};
}

/// With a free name for what exists: a file that an option names, or else the target.
std::string withOtherTarget(const Parsed& parsed, std::span<const std::string> words, const Error& error)
{
    const bool isNamed = std::ranges::find(words, error.path) != words.end();
    const std::string target = isNamed ? error.path : targetOf(parsed.arguments);
    std::error_code unknown;
    if (!isNamed && fs::is_regular_file(error.path, unknown) && !fs::is_regular_file(target, unknown))
        return {}; // it is part of another word, as in --output=FILE
    std::vector<std::string> changed(words.begin(), words.end());
    const auto last = std::find(changed.rbegin(), changed.rend(), target);
    const std::string other = target.empty() ? std::string() : freeName(target);
    if (other.empty() || last == changed.rend())
        return {};
    *last = other;
    return asTyped(changed);
}

/// Empty if the option is not in the words.
std::string withoutOption(const Parsed& parsed, const std::string& name, std::span<const std::string> words)
{
    const Option* const option = findOption(*parsed.command, name);
    if (option == nullptr)
        return {};
    std::vector<std::string> kept;
    for (size_t i = 0; i < words.size(); ++i) {
        if (words[i] == name)
            i += option->kind == ValueKind::Flag ? 0 : 1;
        else if (!words[i].starts_with(name + "="))
            kept.push_back(words[i]);
    }
    return kept.size() < words.size() ? asTyped(kept) : std::string();
}

/// Empty if the command does not have the option, or the words have it already.
std::string withOption(const Parsed& parsed, const Retry& added, std::span<const std::string> words)
{
    const bool isOfParts = parsed.arguments.has("--part") || parsed.arguments.has("--finish");
    if (findOption(*parsed.command, added.name) == nullptr || parsed.arguments.has(added.name)
        || (added.name == "--restart" && isOfParts)) // it is refused there
        return {};
    return asTyped(words) + " " + added.name + (added.value.empty() ? "" : " " + shellQuoted(added.value));
}

/// `path` or the nearest folder above it that exists; for commands that list a place.
std::string existingPlace(const std::string& path, bool isFolder)
{
    fs::path place = path.empty() ? fs::path(".") : fs::path(path);
    std::error_code error;
    while (place.has_relative_path()
        && !(isFolder ? fs::is_directory(place, error) : fs::exists(fs::symlink_status(place, error))))
        place = place.parent_path();
    return shellQuoted(place.empty() ? "." : place.string());
}

/// The listing of an object store by the AWS tools; empty for another place.
std::string listObjects(const io::Path& path)
{
    return objects::isObject(path) ? "aws s3 ls " + shellQuoted(path.string() + "/") : std::string();
}

/// Who may read or write what could not be.
std::string listPlace(const Error& error, const std::string& otherwise)
{
    if (const auto there = far::farPathOf(error.path.empty() ? otherwise : error.path))
        return far::sshCommand(there->host, "ls -ld " + shellQuoted(there->path.string()));
    if (std::string listed = listObjects(error.path.empty() ? otherwise : error.path); !listed.empty())
        return listed;
    return "ls -ld " + existingPlace(error.path.empty() ? otherwise : error.path, false);
}

/// Whether `path` is `folder` or below it, as they are spelled or after following links.
bool isBelow(const fs::path& path, const fs::path& folder)
{
    std::error_code unknown;
    for (const fs::path& base : {folder, fs::weakly_canonical(folder, unknown)}) {
        const fs::path rest = path.lexically_relative(base);
        if (!base.empty() && !rest.empty() && *rest.begin() != "..")
            return true;
    }
    return false;
}

/// The checkpoint that the error is about: the source, or another one that was named.
std::string meant(const Error& error, const Parsed& parsed)
{
    const Arguments& arguments = parsed.arguments;
    std::vector<std::string> named = arguments.allOf("PATH");
    for (const std::string& other :
        {arguments.positional("OTHER"), arguments.text("--against"), arguments.text("--from")})
        named.push_back(other);
    const std::string source = sourceOf(arguments);
    if (error.path.empty() || (!source.empty() && isBelow(error.path, source)))
        return source;
    for (const std::string& path : named) {
        if (!path.empty() && isBelow(error.path, path))
            return path;
    }
    return source;
}

/// `shardscope VERB PATH`, with the tag, the kind and the further folders that were named for this path.
std::string onCheckpoint(std::string_view verb, const std::string& path, const Parsed& parsed)
{
    const bool isDashed = path.starts_with('-'); // no option
    std::vector<std::string> words{std::string(verb), isDashed ? "./" + path : path};
    if (verb == "tags" || path != sourceOf(parsed.arguments))
        return asTyped(words);
    for (const char* option : {"--tag", "--kind", "--root"}) {
        for (const std::string& value : parsed.arguments.all(option))
            words.insert(words.end(), {option, value});
    }
    return asTyped(words);
}

std::string afterNotFound(const Error& error, const Parsed& parsed)
{
    const std::string source = meant(error, parsed);
    if (const auto there = far::farPathOf(source.empty() ? error.path : source))
        return far::sshCommand(there->host, "ls -la " + shellQuoted(there->path.parent_path().string()));
    const io::Path place = source.empty() ? error.path : source;
    if (const std::string listed = listObjects(place.parent_path()); !listed.empty())
        return listed;
    std::error_code ignored;
    if (source.empty() || !fs::exists(source, ignored))
        return "ls -la " + existingPlace(source.empty() ? error.path : source, true);
    if (parsed.arguments.has("--tag"))
        return onCheckpoint("tags", source, parsed);
    return onCheckpoint(parsed.command->name == "inspect" ? "files" : "inspect", source, parsed);
}

std::string afterDamage(const Error& error, const Parsed& parsed)
{
    const std::string source = meant(error, parsed);
    if (source.empty())
        return "shardscope help troubleshooting";
    std::error_code unknown;
    if (parsed.command->name == "inspect" && fs::is_regular_file(source, unknown))
        return "ls -l " + shellQuoted(source); // other verbs fail for it, too
    return onCheckpoint(parsed.command->name == "check" ? "files" : "check", source, parsed);
}

std::string helpOf(const Parsed& parsed)
{
    return commandLine(parsed.path) + " --help";
}

/// Empty if the verb needs more than a checkpoint, or the command has none.
std::string withVerb(const Parsed& parsed, const std::string& name, const Error& error)
{
    const auto& verbs = program().children;
    const auto verb = std::ranges::find(verbs, name, &Command::name);
    const auto isRequired = [](const auto& each) { return each.required; };
    const std::string source = meant(error, parsed);
    if (source.empty() || verb == verbs.end() || std::ranges::count_if(verb->positionals, isRequired) != 1
        || verb->positionals.front().kind != ValueKind::Path
        || std::ranges::any_of(verb->options, isRequired))
        return {};
    return onCheckpoint(name, source, parsed);
}

/// Empty if the wrong word is in none of the words.
std::string withReplaced(const Retry& retry, std::span<const std::string> words)
{
    const std::string& wrong = retry.name;
    std::vector<std::string> changed(words.begin(), words.end());
    auto word = std::ranges::find(changed, wrong); // else a part of a word, such as an address
    if (word == changed.end())
        word = std::ranges::find_if(
            changed, [&](const std::string& each) { return each.find(wrong) != std::string::npos; });
    if (wrong.empty() || word == changed.end())
        return {};
    word->replace(word->rfind(wrong), wrong.size(), retry.value); // a state is at the end of an address
    return asTyped(changed);
}

std::string byCode(const Error& error, const Parsed& parsed, std::span<const std::string> words)
{
    switch (error.code) {
    case ErrorCode::TargetExists:
        return withOtherTarget(parsed, words, error);
    case ErrorCode::NoSpace:
        return "df -h " + existingPlace(error.path.empty() ? targetOf(parsed.arguments) : error.path, false);
    case ErrorCode::NoPermission:
    case ErrorCode::WriteFailed:
        return listPlace(error, targetOf(parsed.arguments));
    case ErrorCode::Unreadable:
        return listPlace(error, sourceOf(parsed.arguments));
    case ErrorCode::SourceChanged: // of a saved plan, it stays changed
        return parsed.command->name == "run" ? "shardscope plan --help" : asTyped(words);
    case ErrorCode::Busy:
    case ErrorCode::Cancelled:
        return asTyped(words);
    case ErrorCode::NotFound:
        return afterNotFound(error, parsed);
    case ErrorCode::Damaged:
    case ErrorCode::Hostile:
    case ErrorCode::LimitExceeded:
    case ErrorCode::Refused:
        return afterDamage(error, parsed);
    case ErrorCode::NotACheckpoint: {
        std::error_code unknown;
        if (fs::is_directory(error.path, unknown))
            return "ls -la " + shellQuoted(error.path);
        return "shardscope help support";
    }
    case ErrorCode::Unsupported:
        return "shardscope help support";
    case ErrorCode::VerifyFailed:
        return "shardscope help troubleshooting";
    case ErrorCode::Usage:
        return helpOf(parsed);
    case ErrorCode::Internal:
        return "shardscope --version --json";
    }
    return {};
}

/// Of the command that the words name, which could not be parsed.
std::string helpOf(std::span<const std::string> words)
{
    std::string line(kProgram);
    const Command* command = &program();
    for (const std::string& word : words) {
        if (word.starts_with('-'))
            continue; // an option in front of the command
        const auto child = std::ranges::find(command->children, word, &Command::name);
        if (child == command->children.end())
            break;
        command = &*child;
        line += " " + word;
    }
    return line + " --help";
}

} // namespace

std::string asTyped(std::span<const std::string> words)
{
    std::string line(kProgram);
    for (const std::string& word : words)
        line += " " + shellQuoted(word);
    return line;
}

Error withNearPath(Error error, std::span<const std::string> words)
{
    constexpr size_t kMostNames = 10'000;
    if (error.code != ErrorCode::NotFound || !error.hint.text.empty() || error.path.empty()
        || std::ranges::find(words, error.path) == words.end())
        return error;
    const fs::path path(error.path);
    const fs::path place = path.has_filename() ? path : path.parent_path();
    std::error_code ignored;
    if (fs::exists(fs::symlink_status(place, ignored)))
        return error;
    std::vector<std::string> names;
    const fs::path folder = place.has_parent_path() ? place.parent_path() : fs::path(".");
    for (auto entry = fs::directory_iterator(folder, ignored);
         entry != fs::directory_iterator() && names.size() < kMostNames; entry.increment(ignored))
        if (std::ranges::find(words, (folder / entry->path().filename()).string())
            == words.end()) // named already
            names.push_back(entry->path().filename().string());
    if (const std::string name = nearest(place.filename().string(), names); !name.empty())
        error.hint = Hint::didYouMean(
            error.path, (place.has_parent_path() ? folder / name : fs::path(name)).string());
    return error;
}

std::string nextCommand(const Error& error, const Parsed* parsed, std::span<const std::string> words)
{
    for (const Retry& retry : error.hint.retries) {
        if (retry.kind == Retry::Shown)
            return {};
        const std::string line = retry.kind == Retry::Replace ? withReplaced(retry, words)
            : parsed == nullptr                               ? std::string()
            : retry.kind == Retry::Omit                       ? withoutOption(*parsed, retry.name, words)
            : retry.kind == Retry::Add                        ? withOption(*parsed, retry, words)
                                                              : withVerb(*parsed, retry.name, error);
        if (!line.empty())
            return line;
    }
    if (parsed == nullptr)
        return error.code == ErrorCode::Internal ? std::string(kProgram) + " --version --json"
                                                 : helpOf(words);
    const std::string line = byCode(error, *parsed, words);
    return line.empty() ? helpOf(*parsed) : line;
}

} // namespace shardscope::cli
