// SPDX-License-Identifier: Apache-2.0
#include "app/cli/frame/help.h"

#include "app/cli/frame/exit.h"
#include "app/cli/frame/terminal.h"
#include "core/describe/json_out.h"
#include "core/describe/json_writer.h"
#include "core/describe/schema_out.h"
#include "core/report/documents/manual.h"
#include "core/report/text/printable.h"

namespace shardscope::cli {

namespace {

struct Page {
    const TextSink& sink;
    const TextStyle& style;
    size_t width;
};

/// Text before the first line of a paragraph, and its width without control codes.
struct Lead {
    std::string text = {};
    size_t columns = 0;
};

/// Wraps words into lines that fit the page. All lines are indented; the first one starts with `lead`, if
/// given.
void writeParagraph(const Page& page, std::string_view text, size_t indent, Lead lead = {})
{
    std::string line = lead.text.empty() ? std::string(indent, ' ') : std::move(lead.text);
    size_t columns = lead.columns == 0 ? indent : lead.columns;
    bool empty = true;
    while (!text.empty()) {
        const size_t end = std::min(text.find(' '), text.size());
        const std::string_view word = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        if (!empty && columns + 1 + displayWidth(word) > page.width) {
            page.sink(line + "\n");
            line.assign(indent, ' ');
            columns = indent;
            empty = true;
        }
        line += (empty ? "" : " ") + std::string(word);
        columns += (empty ? 0 : 1) + displayWidth(word);
        empty = false;
    }
    page.sink(line + "\n");
}

/// Wraps a command as a shell takes it: a backslash at each line end, never inside quotes.
void writeCommandLine(const Page& page, std::string_view text)
{
    std::string line(6, ' ');
    std::string word;
    bool quoted = false;
    const auto place = [&] {
        const bool empty = line.find_first_not_of(' ') == std::string::npos;
        if (!empty && displayWidth(line) + 1 + displayWidth(word) + 2 > page.width) {
            page.sink(line + " \\\n");
            line.assign(8, ' ');
        } else if (!empty) {
            line += ' ';
        }
        line += word;
        word.clear();
    };
    for (const char each : text) {
        quoted = quoted != (each == '\'');
        if (each == ' ' && !quoted)
            place();
        else
            word += each;
    }
    place();
    page.sink(line + "\n");
}

void writeHeading(const Page& page, std::string_view text)
{
    page.sink("\n" + page.style.bold(text) + "\n");
}

void writeTerm(const Page& page, const std::string& term, std::string_view says)
{
    page.sink("  " + page.style.bold(term) + "\n");
    writeParagraph(page, says, 6);
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

void writeOptions(const Page& page, std::string_view heading, const std::vector<Option>& options)
{
    if (options.empty())
        return;
    writeHeading(page, heading);
    for (const Option& option : options)
        writeTerm(page, optionTerm(option), optionHelp(option));
}

void writeChildren(const Page& page, const Command& command)
{
    if (command.children.empty())
        return;
    writeHeading(page, "COMMANDS");
    size_t width = 0;
    for (const Command& child : command.children)
        width = std::max(width, child.name.size());
    const size_t indent = 2 + width + 2;
    for (const Command& child : command.children) {
        const std::string gap(width - child.name.size() + 2, ' ');
        writeParagraph(page, child.summary, indent, {"  " + page.style.bold(child.name) + gap, indent});
    }
}

void writeExamples(const Page& page, const Command& command)
{
    if (!command.examples.empty())
        writeHeading(page, "EXAMPLES");
    for (const Example& example : command.examples) {
        writeParagraph(page, example.says, 2);
        writeCommandLine(page, example.line);
    }
}

} // namespace

std::string optionTerm(const Option& option)
{
    const std::string letter = option.letter == 0 ? std::string() : std::string{'-', option.letter, ',', ' '};
    return letter + option.name + (option.valueName.empty() ? "" : " " + option.valueName);
}

std::string optionHelp(const Option& option)
{
    return withChoices(option.help, option.choices);
}

std::string commandLine(const std::vector<const Command*>& path)
{
    std::string out;
    for (const Command* command : path)
        out += (out.empty() ? "" : " ") + command->name;
    return out;
}

std::string commandName(const std::vector<const Command*>& path)
{
    return commandLine(path.size() > 1 ? std::vector(path.begin() + 1, path.end()) : path);
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

void writeCommandList(
    const TextSink& sink, const TextStyle& style, const std::vector<const Command*>& path, size_t width)
{
    writeChildren({sink, style, width}, *path.back());
}

void writeHelp(
    const TextSink& sink, const TextStyle& style, const std::vector<const Command*>& path, size_t width)
{
    const Page page{sink, style, width};
    const Command& command = *path.back();
    sink(style.bold("NAME") + "\n");
    writeParagraph(page, commandLine(path) + " - " + command.summary, 6, {"  ", 2});
    writeHeading(page, "SYNOPSIS");
    writeParagraph(page, synopsis(path), 6, {"  ", 2});
    if (!command.description.empty())
        writeHeading(page, "DESCRIPTION");
    for (size_t i = 0; i < command.description.size(); ++i) {
        if (i > 0)
            sink("\n");
        writeParagraph(page, command.description[i], 2);
    }
    writeChildren(page, command);
    if (!command.positionals.empty())
        writeHeading(page, "ARGUMENTS");
    for (const Positional& positional : command.positionals)
        writeTerm(page, positional.name, withChoices(positional.help, positional.choices));
    writeOptions(page, "OPTIONS", command.options);
    writeOptions(page, command.options.empty() ? "OPTIONS" : "COMMON OPTIONS", command.commonOptions);
    writeExamples(page, command);
    writeHeading(page, "EXIT STATUS");
    for (const auto& [code, meaning] : exitMeanings()) {
        const std::string number = std::to_string(code);
        writeParagraph(page, meaning, 8, {std::string(6 - number.size(), ' ') + number + "  ", 8});
    }
}

namespace {

struct HelpPage {
    std::string_view topic = {};
    std::string_view title = {};
    std::string_view text = {};
};

/// Without a page it is the list of them.
void describeHelp(auto& out, const std::optional<HelpPage>& asked)
{
    const HelpPage page = asked.value_or(HelpPage());
    out.answer("help", "HelpAnswer", "A page of the manual, the help of a command, or the list of pages.");
    out.maybe(asked.has_value(), [&] {
        out.field("topic", page.topic);
        out.field("title", page.title);
        out.field("text", page.text, "Markdown; of a command, the text of --help");
    });
    out.maybe(!asked, [&] {
        out.list("topics", manualPages(), [](auto& each, const ManualPage& listed) {
            each.field("topic", listed.topic);
            each.field("title", listed.title);
        });
    });
}

} // namespace

void writeHelpJson(
    const TextSink& sink, std::string_view topic, std::string_view title, std::string_view text)
{
    writeObject(sink, [&](JsonOut& out) { describeHelp(out, HelpPage{topic, title, text}); });
}

void writeTopicsJson(const TextSink& sink)
{
    writeObject(sink, [](JsonOut& out) { describeHelp(out, std::nullopt); });
}

std::string helpSchema()
{
    return schemaOf("help", [](SchemaOut& out) { describeHelp(out, std::nullopt); });
}

void writeHelpJson(const TextSink& sink, const std::vector<const Command*>& path)
{
    std::string text;
    writeHelp([&text](std::string_view part) { text += part; }, {}, path, textWidth(-1));
    writeHelpJson(sink, commandName(path), path.back()->summary, text);
}

} // namespace shardscope::cli
