// SPDX-License-Identifier: Apache-2.0
#include "app/cli/frame/next_command.h"

#include "core/base/shell_quote.h"

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

std::string sourceOf(const Arguments& arguments)
{
    return firstOf(arguments, {"SRC", "PATH", "RUN", "FILE"});
}

std::string targetOf(const Arguments& arguments)
{
    return firstOf(arguments, {"DST", "OUT"});
}

/// PATH-2, or the first number after it that is free: out.zip becomes out-2.zip, run becomes run-2.
std::string freeName(const std::string& path)
{
    fs::path plain = path;
    if (!plain.has_filename())
        plain = plain.parent_path();
    const bool isFile = plain.extension() == ".zip" || plain.extension() == ".safetensors";
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

std::string withOtherTarget(const Parsed& parsed, std::span<const std::string> words)
{
    const std::string target = targetOf(parsed.arguments);
    std::vector<std::string> changed(words.begin(), words.end());
    const auto last = std::find(changed.rbegin(), changed.rend(), target);
    const std::string other = target.empty() ? std::string() : freeName(target);
    if (other.empty() || last == changed.rend())
        return {};
    *last = other;
    return asTyped(changed);
}

bool accepts(const Command& command, std::string_view option)
{
    const auto isIt = [&](const Option& candidate) { return candidate.name == option; };
    return std::any_of(command.options.begin(), command.options.end(), isIt)
        || std::any_of(command.commonOptions.begin(), command.commonOptions.end(), isIt);
}

/// The option in backquotes, such as `--allow missing-rank`: only when it can be typed as it is, so without a
/// placeholder in capitals, and when the verb has it.
std::string optionInHint(const Parsed& parsed, const std::string& hint)
{
    for (size_t start = hint.find("`--"); start != std::string::npos; start = hint.find("`--", start + 1)) {
        const size_t end = hint.find('`', start + 1);
        if (end == std::string::npos)
            return {};
        const std::string option = hint.substr(start + 1, end - start - 1);
        const bool hasPlaceholder
            = std::any_of(option.begin(), option.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
        const std::string name = option.substr(0, option.find_first_of(" ="));
        if (!hasPlaceholder && accepts(*parsed.command, name) && !parsed.arguments.has(name))
            return option;
    }
    return {};
}

/// The folder that would hold `path`, as far as it exists; for commands that list a place.
std::string existingFolder(const std::string& path)
{
    fs::path place = path.empty() ? fs::path(".") : fs::path(path);
    std::error_code error;
    while (!fs::is_directory(place, error) && place.has_relative_path())
        place = place.parent_path();
    return shellQuoted(place.empty() ? "." : place.string());
}

std::string onCheckpoint(std::string_view verb, const std::string& path)
{
    return asTyped(std::vector<std::string>{std::string(verb), path});
}

std::string afterNotFound(const Error& error, const Parsed& parsed)
{
    const std::string source = sourceOf(parsed.arguments);
    std::error_code ignored;
    if (source.empty() || !fs::exists(source, ignored))
        return "ls -la " + existingFolder(source.empty() ? error.path : source);
    if (parsed.arguments.has("--tag"))
        return onCheckpoint("tags", source);
    return onCheckpoint(parsed.command->name == "inspect" ? "files" : "inspect", source);
}

std::string afterDamage(const Parsed& parsed)
{
    const std::string source = sourceOf(parsed.arguments);
    if (source.empty())
        return "shardscope help troubleshooting";
    return onCheckpoint(parsed.command->name == "check" ? "files" : "check", source);
}

std::string helpOf(const Parsed* parsed)
{
    std::string out;
    for (const Command* command : parsed != nullptr ? parsed->path : std::vector<const Command*>())
        out += command->name + " ";
    return (out.empty() ? std::string(kProgram) + " " : out) + "--help";
}

/// The text between the first backquotes at or after `from`; empty when there is none.
std::string_view quotedAfter(std::string_view text, size_t from)
{
    const size_t start = text.find('`', from);
    const size_t end = start == std::string_view::npos ? start : text.find('`', start + 1);
    return end == std::string_view::npos ? std::string_view() : text.substr(start + 1, end - start - 1);
}

/// The verb in backquotes, as in "`shardscope params` lists them", with the path that was asked: empty where
/// the hint has its arguments, too, or names none.
std::string verbInHint(const Parsed& parsed, const std::string& hint)
{
    const std::string source = sourceOf(parsed.arguments);
    if (source.empty() || parsed.path.empty())
        return {};
    for (size_t at = hint.find('`'); at != std::string::npos;) {
        std::string_view quoted = quotedAfter(hint, at);
        if (quoted.starts_with(kProgram) && quoted.size() > kProgram.size())
            quoted.remove_prefix(kProgram.size() + 1);
        for (const Command& verb : parsed.path.front()->children) {
            if (verb.name == quoted && !verb.positionals.empty()
                && verb.positionals.front().kind == ValueKind::Path)
                return onCheckpoint(verb.name, source);
        }
        const size_t end = hint.find('`', at + 1);
        at = end == std::string::npos ? end : hint.find('`', end + 1);
    }
    return {};
}

/// For "did you mean `X`?": the words with X in place of what the message quotes. Empty when that is in none.
std::string corrected(const Error& error, std::span<const std::string> words)
{
    static constexpr std::string_view kQuestion = "did you mean ";
    const size_t question = error.hint.find(kQuestion);
    if (question == std::string::npos)
        return {};
    const std::string_view right = quotedAfter(error.hint, question);
    const std::string_view wrong = quotedAfter(error.message, 0);
    std::vector<std::string> changed(words.begin(), words.end());
    for (std::string& word : changed) {
        const size_t place = wrong.empty() ? std::string::npos : word.find(wrong);
        if (place != std::string::npos && !right.empty()) {
            word.replace(place, wrong.size(), right);
            return asTyped(changed);
        }
    }
    return {};
}

std::string byCode(const Error& error, const Parsed& parsed, std::span<const std::string> words)
{
    switch (error.code) {
    case ErrorCode::TargetExists:
        return withOtherTarget(parsed, words);
    case ErrorCode::NoSpace:
        return "df -h " + existingFolder(targetOf(parsed.arguments));
    case ErrorCode::NoPermission:
    case ErrorCode::WriteFailed:
        return "ls -ld " + existingFolder(targetOf(parsed.arguments));
    case ErrorCode::Busy:
    case ErrorCode::SourceChanged:
    case ErrorCode::Cancelled:
        return asTyped(words);
    case ErrorCode::NotFound:
        return afterNotFound(error, parsed);
    case ErrorCode::Unreadable:
    case ErrorCode::Damaged:
    case ErrorCode::Hostile:
    case ErrorCode::LimitExceeded:
    case ErrorCode::Refused:
        return afterDamage(parsed);
    case ErrorCode::NotACheckpoint:
    case ErrorCode::Unsupported:
        return "shardscope help support";
    case ErrorCode::VerifyFailed:
        return "shardscope help troubleshooting";
    case ErrorCode::Usage:
        return helpOf(&parsed);
    case ErrorCode::Internal:
        return "shardscope --version --json";
    }
    return {};
}

} // namespace

std::string asTyped(std::span<const std::string> words)
{
    std::string line(kProgram);
    for (const std::string& word : words)
        line += " " + shellQuoted(word);
    return line;
}

std::string nextCommand(const Error& error, const Parsed* parsed, std::span<const std::string> words)
{
    if (parsed != nullptr && parsed->command != nullptr) {
        if (std::string line = verbInHint(*parsed, error.hint); !line.empty())
            return line;
    }
    if (error.hint.find(std::string(kProgram) + " ") != std::string::npos)
        return {};
    if (std::string line = corrected(error, words); !line.empty())
        return line;
    if (parsed == nullptr || parsed->command == nullptr)
        return error.code == ErrorCode::Internal ? "shardscope --version --json" : helpOf(parsed);
    if (const std::string option = optionInHint(*parsed, error.hint); !option.empty())
        return asTyped(words) + " " + option;
    const std::string command = byCode(error, *parsed, words);
    return command.empty() ? helpOf(parsed) : command;
}

} // namespace shardscope::cli
