// SPDX-License-Identifier: Apache-2.0
#include "app/cli/help.h"

#include "app/cli/exit.h"
#include "core/report/printable.h"

namespace shardscope::cli {

namespace {

constexpr size_t kLineWidth = 96;

/// Words broken into lines of at most kLineWidth columns, all indented.
void writeParagraph(const TextSink& sink, std::string_view text, size_t indent)
{
    std::string line(indent, ' ');
    bool empty = true;
    while (!text.empty()) {
        const size_t end = std::min(text.find(' '), text.size());
        const std::string_view word = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        if (!empty && displayWidth(line) + 1 + displayWidth(word) > kLineWidth) {
            sink(line + "\n");
            line.assign(indent, ' ');
            empty = true;
        }
        line += (empty ? "" : " ") + std::string(word);
        empty = false;
    }
    sink(line + "\n");
}

void writeHeading(const TextSink& sink, const TextStyle& style, std::string_view text)
{
    sink("\n" + style.bold(text) + "\n");
}

void writeTerm(const TextSink& sink, const TextStyle& style, const std::string& term, std::string_view says)
{
    sink("  " + style.bold(term) + "\n");
    writeParagraph(sink, says, 6);
}

std::string withChoices(const std::string& help, const std::vector<std::string>& choices)
{
    if (choices.empty() || help.find(choices.front()) != std::string::npos)
        return help;
    std::string list;
    for (const std::string& choice : choices)
        list += (list.empty() ? "" : ", ") + choice;
    return help + " One of " + list + ".";
}

void writeOptions(const TextSink& sink, const TextStyle& style, std::string_view heading,
    const std::vector<Option>& options)
{
    if (options.empty())
        return;
    writeHeading(sink, style, heading);
    for (const Option& option : options)
        writeTerm(sink, style, optionTerm(option), withChoices(option.help, option.choices));
}

void writeChildren(const TextSink& sink, const TextStyle& style, const Command& command)
{
    if (command.children.empty())
        return;
    writeHeading(sink, style, "COMMANDS");
    size_t width = 0;
    for (const Command& child : command.children)
        width = std::max(width, child.name.size());
    for (const Command& child : command.children)
        sink("  " + style.bold(child.name) + std::string(width - child.name.size() + 2, ' ') + child.summary
            + "\n");
}

} // namespace

std::string optionTerm(const Option& option)
{
    const std::string letter = option.letter == 0 ? std::string() : std::string{'-', option.letter, ',', ' '};
    return letter + option.name + (option.valueName.empty() ? "" : " " + option.valueName);
}

std::string commandLine(const std::vector<const Command*>& path)
{
    std::string out;
    for (const Command* command : path)
        out += (out.empty() ? "" : " ") + command->name;
    return out;
}

std::string synopsis(const std::vector<const Command*>& path)
{
    std::string out = commandLine(path);
    const Command& command = *path.back();
    if (!command.children.empty())
        return out + " COMMAND …";
    for (const Positional& positional : command.positionals)
        out += (positional.required ? " " + positional.name : " [" + positional.name + "]")
            + (positional.repeats ? "…" : "");
    for (const Option& option : command.options) {
        if (option.required)
            out += " " + option.name + " " + option.valueName;
    }
    return out + " [OPTION]…";
}

void writeHelp(const TextSink& sink, const TextStyle& style, const std::vector<const Command*>& path)
{
    const Command& command = *path.back();
    sink(style.bold("NAME") + "\n  " + commandLine(path) + " - " + command.summary + "\n");
    writeHeading(sink, style, "SYNOPSIS");
    sink("  " + synopsis(path) + "\n");
    if (!command.description.empty())
        writeHeading(sink, style, "DESCRIPTION");
    for (size_t i = 0; i < command.description.size(); ++i) {
        if (i > 0)
            sink("\n");
        writeParagraph(sink, command.description[i], 2);
    }
    writeChildren(sink, style, command);
    if (!command.positionals.empty())
        writeHeading(sink, style, "ARGUMENTS");
    for (const Positional& positional : command.positionals)
        writeTerm(sink, style, positional.name, withChoices(positional.help, positional.choices));
    writeOptions(sink, style, "OPTIONS", command.options);
    writeOptions(sink, style, command.options.empty() ? "OPTIONS" : "COMMON OPTIONS", command.commonOptions);
    if (!command.examples.empty())
        writeHeading(sink, style, "EXAMPLES");
    for (const Example& example : command.examples) {
        writeParagraph(sink, example.says, 2);
        sink("      " + example.line + "\n");
    }
    writeHeading(sink, style, "EXIT STATUS");
    for (const auto& [code, meaning] : exitMeanings())
        sink("  " + std::string(4 - std::to_string(code).size(), ' ') + std::to_string(code) + "  "
            + std::string(meaning) + "\n");
}

} // namespace shardscope::cli
