// SPDX-License-Identifier: Apache-2.0
#include "app/cli/frame/arguments.h"
#include "app/cli/frame/help.h"
#include "core/base/nearest_word.h"

#include "core/base/text.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <deque>

namespace shardscope::cli {

const Option* findOption(const Command& command, std::string_view word)
{
    for (const auto* options : {&command.options, &command.commonOptions}) {
        for (const Option& option : *options) {
            if (word == option.name || (option.letter != 0 && word == std::string{'-', option.letter}))
                return &option;
        }
    }
    return nullptr;
}

namespace {

std::vector<Option> allOptions(const Command& command)
{
    std::vector<Option> out = command.options;
    out.insert(out.end(), command.commonOptions.begin(), command.commonOptions.end());
    return out;
}

Hint helpHint(const std::vector<const Command*>& path)
{
    return {"see `" + commandLine(path) + " --help`", {{Retry::Shown}}};
}

tl::unexpected<Error> unknownWord(std::string_view what, const std::string& word,
    std::span<const std::string> known, const std::vector<const Command*>& path)
{
    return fail(ErrorCode::Usage, "there is no " + std::string(what) + " `" + word + "`", {},
        nearestHint(word, known, helpHint(path)));
}

/// Number of words that an option at the front takes, or 0 if it is unknown.
size_t wordsOf(const Command& command, std::span<const std::string> words)
{
    const std::string name = words[0].substr(0, words[0].find('='));
    const Option* option = findOption(command, name);
    if (option == nullptr)
        return 0;
    const bool ownWord = option->kind != ValueKind::Flag && name.size() == words[0].size();
    return std::min<size_t>(ownWord ? 2 : 1, words.size());
}

/// Finds the innermost verb. The remaining `words` are its options and arguments.
Result<Parsed> findCommand(const Command& root, std::vector<std::string>& words)
{
    Parsed out;
    out.command = &root;
    out.path = {&root};
    std::vector<std::string> early; // options before the verb
    size_t at = 0;
    while (at < words.size() && !out.command->children.empty()) {
        const std::string& word = words[at];
        if (word.size() > 1 && word[0] == '-') {
            const size_t taken = wordsOf(*out.command, std::span(words).subspan(at));
            if (taken == 0)
                break; // the parser reports it
            early.insert(early.end(), words.begin() + static_cast<ptrdiff_t>(at),
                words.begin() + static_cast<ptrdiff_t>(at + taken));
            at += taken;
            continue;
        }
        const auto& children = out.command->children;
        const auto child = std::find_if(
            children.begin(), children.end(), [&](const Command& c) { return c.name == word; });
        if (child == children.end()) {
            std::vector<std::string> names;
            std::transform(children.begin(), children.end(), std::back_inserter(names),
                [](const Command& c) { return c.name; });
            return unknownWord("command", word, names, out.path);
        }
        out.command = &*child;
        out.path.push_back(out.command);
        ++at;
    }
    const bool isShared = std::find(early.begin(), early.end(), "--mpi") != early.end();
    if (isShared && out.command != &root && findOption(*out.command, "--mpi") == nullptr)
        return fail(ErrorCode::Unsupported, "`" + out.command->name + "` runs in one process", {},
            Hint::omit("--mpi") + ": one process is enough");
    early.insert(early.end(), words.begin() + static_cast<ptrdiff_t>(at), words.end());
    words = std::move(early);
    return out;
}

std::optional<uint64_t> numberOf(const Option& option, const Arguments& arguments)
{
    if (option.kind == ValueKind::Count)
        return arguments.count(option.name);
    return option.kind == ValueKind::Size ? arguments.size(option.name) : std::nullopt;
}

std::string limitsText(const Option& option)
{
    const std::string atLeast = "at least " + std::to_string(option.minimum);
    if (option.maximum == std::numeric_limits<uint64_t>::max())
        return atLeast;
    if (option.maximum == std::numeric_limits<uint32_t>::max())
        return atLeast + " and fit 32 bits";
    return "from " + std::to_string(option.minimum) + " to " + std::to_string(option.maximum);
}

Status checkValue(const Option& option, const std::string& value, const Arguments& arguments)
{
    const std::string shown = "`" + value + "` given for " + option.name;
    if (option.kind == ValueKind::Flag && value != "true")
        return fail(ErrorCode::Usage, "the option " + option.name + " takes no value");
    if (option.kind == ValueKind::Count && !arguments.count(option.name))
        return fail(ErrorCode::Usage, shown + " is not a whole number");
    if (option.kind == ValueKind::Size && !parseBytes(value))
        return fail(ErrorCode::Usage, shown + " is not a size", {}, "use 512M, 2GiB or a number of bytes");
    if (const auto number = numberOf(option, arguments);
        number && (*number < option.minimum || *number > option.maximum))
        return fail(ErrorCode::Usage, option.name + " must be " + limitsText(option));
    const auto& choices = option.choices;
    if (option.kind == ValueKind::Choice
        && std::find(choices.begin(), choices.end(), value) == choices.end()) {
        std::string list;
        for (const std::string& choice : choices)
            list += (list.empty() ? "" : ", ") + choice;
        return fail(ErrorCode::Usage, shown + " is not one of " + list, {}, nearestHint(value, choices, ""));
    }
    return {};
}

tl::unexpected<Error> emptyValue(const std::string& option)
{
    // Most often an unset variable of a script. To proceed would select another checkpoint.
    return fail(
        ErrorCode::Usage, "the value of " + option + " is empty", {}, "give a value, or remove the option");
}

Status checkValues(const Option& option, const std::vector<std::string>& values, const Arguments& arguments)
{
    if (values.size() > 1 && !option.repeats && option.kind != ValueKind::Flag)
        return fail(ErrorCode::Usage,
            "the option " + option.name + " takes one value, but is given " + std::to_string(values.size())
                + " times",
            {}, "give it once");
    for (const std::string& value : values) {
        if (value.empty() && option.kind != ValueKind::Flag)
            return emptyValue(option.name);
        SHARDSCOPE_CHECK(checkValue(option, value, arguments));
    }
    return {};
}

/// `--tag=` has no value, and CLI11 would take the next word.
Status checkEmptyValues(const std::vector<Option>& options, const std::vector<std::string>& words)
{
    for (const std::string& word : words) {
        if (word == "--")
            break;
        if (!word.ends_with('='))
            continue;
        const auto option = std::find_if(options.begin(), options.end(),
            [&](const Option& each) { return each.kind != ValueKind::Flag && word == each.name + "="; });
        if (option != options.end())
            return emptyValue(option->name);
    }
    return {};
}

/// Stores the arguments in order. Reports words that are unknown or too many.
Status placeWords(const std::vector<std::string>& rest, Parsed& parsed)
{
    std::vector<std::string> known;
    for (const Option& option : allOptions(*parsed.command))
        known.push_back(option.name);
    std::vector<std::string> values;
    bool onlyArguments = false;
    for (const std::string& word : rest) {
        if (!onlyArguments && word == "--")
            onlyArguments = true;
        else if (!onlyArguments && word.size() > 1 && word[0] == '-')
            return unknownWord("option", word.substr(0, word.find('=')), known, parsed.path);
        else
            values.push_back(word);
    }
    const auto& positionals = parsed.command->positionals;
    const bool repeats = !positionals.empty() && positionals.back().repeats;
    if (values.size() > positionals.size() && !repeats)
        return fail(ErrorCode::Usage, "too many arguments: `" + values[positionals.size()] + "`", {},
            helpHint(parsed.path));
    for (size_t i = 0; i < values.size(); ++i) {
        const std::string& name = positionals[std::min(i, positionals.size() - 1)].name;
        if (values[i].empty())
            return fail(ErrorCode::Usage, name + " is empty", {}, helpHint(parsed.path));
        parsed.arguments.addPositional(name, values[i]);
    }
    return {};
}

Status checkComplete(const Parsed& parsed)
{
    if (parsed.arguments.has("--help"))
        return {};
    for (const Positional& positional : parsed.command->positionals) {
        if (positional.required && parsed.arguments.positional(positional.name).empty())
            return fail(ErrorCode::Usage, "the argument " + positional.name + " is missing", {},
                helpHint(parsed.path));
    }
    for (const Option& option : parsed.command->options) {
        if (option.required && !parsed.arguments.has(option.name))
            return fail(
                ErrorCode::Usage, "the option " + option.name + " is missing", {}, helpHint(parsed.path));
    }
    return {};
}

} // namespace

Result<Parsed> parse(const Command& root, std::span<const std::string> words)
{
    std::vector<std::string> left(words.begin(), words.end());
    SHARDSCOPE_TRY(Parsed parsed, findCommand(root, left));
    parsed.words.assign(words.begin(), words.end());

    CLI::App app;
    app.set_help_flag("");
    app.allow_extras();
    const std::vector<Option> options = allOptions(*parsed.command);
    SHARDSCOPE_CHECK(checkEmptyValues(options, left));
    std::deque<std::vector<std::string>> values;
    std::vector<CLI::Option*> handles;
    for (const Option& option : options) {
        const std::string names = option.letter == 0 ? option.name : option.name + ",-" + option.letter;
        CLI::Option* const handle = option.kind == ValueKind::Flag
            ? app.add_flag(names)->multi_option_policy(CLI::MultiOptionPolicy::TakeLast)
            : app.add_option(names, values.emplace_back())->allow_extra_args(false);
        handles.push_back(handle);
    }
    try {
        std::reverse(left.begin(), left.end()); // CLI11 takes words from the back
        app.parse(left);
    } catch (const CLI::ArgumentMismatch& error) {
        const std::string text = error.what();
        return fail(ErrorCode::Usage, "the option " + text.substr(0, text.find(':')) + " needs a value", {},
            helpHint(parsed.path));
    } catch (const CLI::Error& error) {
        return fail(ErrorCode::Usage, error.what(), {}, helpHint(parsed.path));
    }
    for (size_t i = 0; i < options.size(); ++i) {
        if (handles[i]->count() == 0)
            continue;
        parsed.arguments.set(options[i].name, handles[i]->results());
        SHARDSCOPE_CHECK(checkValues(options[i], handles[i]->results(), parsed.arguments));
    }
    SHARDSCOPE_CHECK(placeWords(app.remaining(), parsed));
    SHARDSCOPE_CHECK(checkComplete(parsed));
    return parsed;
}

} // namespace shardscope::cli
