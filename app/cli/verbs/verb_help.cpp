// SPDX-License-Identifier: Apache-2.0
#include "app/cli/frame/command.h"
#include "app/cli/frame/common_options.h"
#include "app/cli/frame/exit.h"
#include "app/cli/frame/help.h"
#include "app/cli/frame/page_text.h"
#include "app/cli/frame/terminal.h"
#include "app/cli/jobs/session.h"
#include "app/cli/verbs/verbs.h"
#include "core/base/nearest_word.h"
#include "core/describe/json_writer.h"
#include "core/report/documents/manual.h"

#include <algorithm>

#include <unistd.h>

namespace shardscope::cli {

namespace {

using Path = std::vector<const Command*>;

/// Text as roff takes it. What is between backquotes is bold.
std::string roff(std::string_view text)
{
    std::string out;
    bool bold = false;
    for (const char c : text) {
        if (c == '`') {
            bold = !bold;
            out += bold ? "\\fB" : "\\fR";
        } else if (c == '\\') {
            out += "\\e";
        } else if (c == '-') {
            out += "\\-";
        } else if (c == '\'') {
            out += "\\(aq";
        } else {
            out += c;
        }
    }
    return out.starts_with('.') ? "\\&" + out : out; // at the start of a line a dot begins a request
}

void writeTerm(const TextSink& sink, std::string_view term, std::string_view says)
{
    sink(".TP\n.B " + roff(term) + "\n" + roff(says) + "\n");
}

void writeExamples(const TextSink& sink, const Command& command)
{
    for (const Example& example : command.examples)
        sink(".PP\n" + roff(example.says) + "\n.PP\n.nf\n.RS 4\n" + roff(example.line) + "\n.RE\n.fi\n");
}

/// Every command that can be run, with the commands above it.
void collect(const Path& path, std::vector<Path>& out)
{
    for (const Command& child : path.back()->children) {
        Path at = path;
        at.push_back(&child);
        if (child.run != nullptr)
            out.push_back(at);
        collect(at, out);
    }
}

/// An option as some commands have it.
struct Shared {
    const Option* option = nullptr;
    std::vector<std::string> commands = {};
};

/// Options with one name and one text are one option.
std::vector<Shared> sharedOptions(const std::vector<Path>& commands)
{
    std::vector<Shared> out;
    for (const Path& path : commands) {
        for (const auto* list : {&path.back()->options, &path.back()->commonOptions}) {
            for (const Option& option : *list) {
                const auto same = std::ranges::find_if(out, [&](const Shared& other) {
                    return other.option->name == option.name && other.option->help == option.help;
                });
                Shared& entry = same == out.end() ? out.emplace_back(Shared{&option}) : *same;
                entry.commands.push_back(commandName(path));
            }
        }
    }
    return out;
}

std::string headingOf(const std::vector<std::string>& takers, const std::vector<Path>& commands)
{
    if (takers.size() == commands.size())
        return "Of every command";
    std::string out = "Of";
    const bool isMost = takers.size() + 4 >= commands.size();
    for (const Path& path : commands) {
        const std::string name = commandName(path);
        if ((std::ranges::find(takers, name) == takers.end()) == isMost)
            out += (out.ends_with("Of") ? isMost ? " every command but " : " " : ", ") + name;
    }
    return out;
}

void writeOptions(const TextSink& sink, const Command& program, const std::vector<Path>& commands)
{
    std::vector<Shared> shared = sharedOptions(commands);
    // Options of most commands first, and options of the same commands together.
    std::ranges::stable_sort(shared, [](const Shared& a, const Shared& b) {
        return a.commands.size() != b.commands.size() ? a.commands.size() > b.commands.size()
                                                      : a.commands < b.commands;
    });
    sink(".SH OPTIONS\n.SS Without a command\n");
    for (const Option& option : program.options)
        writeTerm(sink, optionTerm(option), optionHelp(option));
    const std::vector<std::string>* last = nullptr;
    for (const Shared& entry : shared) {
        if (last == nullptr || *last != entry.commands)
            sink(".SS " + roff(headingOf(entry.commands, commands)) + "\n");
        last = &entry.commands;
        writeTerm(sink, optionTerm(*entry.option), optionHelp(*entry.option));
    }
}

void writeCommands(const TextSink& sink, const std::vector<Path>& commands)
{
    sink(".SH COMMANDS\n.B shardscope COMMAND \\-\\-help\nexplains one command.\n");
    for (const Path& path : commands) {
        sink(".SS " + roff(commandName(path)) + "\n.B " + roff(synopsis(path)) + "\n");
        for (const std::string& paragraph : path.back()->description)
            sink(".PP\n" + roff(paragraph) + "\n");
        for (const Positional& positional : path.back()->positionals)
            writeTerm(sink, positional.name, positional.help);
        writeExamples(sink, *path.back());
    }
}

/// The rows of the first table below a heading of a page of the manual, as terms.
void writeTable(const TextSink& sink, std::string_view topic, std::string_view heading)
{
    const ManualPage* page = findManualPage(topic);
    std::string_view text = page == nullptr ? std::string_view() : page->text;
    text.remove_prefix(std::min(text.find("\n## " + std::string(heading) + "\n"), text.size()));
    bool inTable = false;
    while (!text.empty()) {
        const std::string_view line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(line.size() + 1, text.size()));
        if (inTable && !line.starts_with("|"))
            return;
        inTable = line.starts_with("|");
        if (!line.starts_with("| `"))
            continue;
        const size_t middle = line.find(" | ");
        if (middle != std::string_view::npos && line.ends_with(" |"))
            sink(".TP\n" + roff(line.substr(2, middle - 2)) + "\n"
                + roff(line.substr(middle + 3, line.size() - middle - 5)) + "\n");
    }
}

/// The manual page shardscope(1), in the macros of man(7): every command, every option with the commands that
/// take it, and the addresses and environment variables that the manual lists.
void writeManPage(const TextSink& sink, const Command& program)
{
    std::vector<Path> commands;
    collect({&program}, commands);
    sink(".\\\" Printed by the program: shardscope help man\n"
         ".TH SHARDSCOPE 1 \"\" \"Shardscope\" \"User Commands\"\n.SH NAME\n");
    sink(roff(program.name + " - " + program.summary)
        + "\n.SH SYNOPSIS\n.B shardscope\n.I COMMAND\n"
          ".RI [ ARGUMENT \\|.\\|.\\|.]\n.RI [ OPTION \\|.\\|.\\|.]\n.SH DESCRIPTION\n");
    for (const std::string& paragraph : program.description)
        sink(".PP\n" + roff(paragraph) + "\n");
    sink(".SH EXAMPLES\n");
    writeExamples(sink, program);
    writeCommands(sink, commands);
    writeOptions(sink, program, commands);
    sink(".SH ADDRESSES\n");
    writeTable(sink, "scripting", "Addresses");
    sink(".SH EXIT STATUS\n");
    for (const auto& [code, meaning] : exitMeanings())
        writeTerm(sink, std::to_string(code), meaning);
    sink(".SH ENVIRONMENT\n");
    writeTable(sink, "scripting", "Environment variables");
    sink(".SH SEE ALSO\n.BR shardscope\\-gui (1).\nThe manual has these pages;\n.B shardscope help TOPIC\n"
         "shows one:\n");
    for (const ManualPage& page : manualPages())
        writeTerm(sink, page.topic, page.title);
}

constexpr std::string_view kManPage = "man";

std::vector<std::string> topics()
{
    std::vector<std::string> out;
    for (const ManualPage& page : manualPages())
        out.emplace_back(page.topic);
    out.emplace_back(kManPage);
    return out;
}

void writeTopics(Output& output)
{
    if (output.json())
        return writeTopicsJson(output.answer());
    TextTable table({{"topic"}, {"page"}});
    table.add({std::string(kManPage), "All commands and options, for man(1)"});
    for (const ManualPage& page : manualPages())
        table.add({std::string(page.topic), std::string(page.title)});
    table.write(output.answer(), output.answerStyle());
    output.answer()(
        "\n`shardscope help TOPIC` prints a page, `shardscope COMMAND --help` explains a command.\n");
}

Result<int> runHelp(Session& session)
{
    Output& output = session.output();
    const std::string topic = session.arguments().positional("TOPIC");
    if (topic.empty()) {
        writeTopics(output);
        return kExitDone;
    }
    if (const ManualPage* page = findManualPage(topic)) {
        if (output.json())
            writeHelpJson(output.answer(), page->topic, page->title, page->text);
        else if (::isatty(STDOUT_FILENO) != 0)
            writePage(output.answer(), output.answerStyle(), page->text, textWidth(STDOUT_FILENO));
        else
            output.answer()(page->text); // Markdown, for other programs
        return kExitDone;
    }
    if (topic == kManPage) {
        std::string text;
        writeManPage([&text](std::string_view part) { text += part; }, program());
        if (output.json())
            writeHelpJson(output.answer(), topic, "shardscope(1)", text);
        else
            output.answer()(text);
        return kExitDone;
    }
    const auto& verbs = program().children;
    const auto verb = std::ranges::find(verbs, topic, &Command::name);
    if (verb == verbs.end()) {
        std::vector<std::string> names = topics();
        for (const Command& command : verbs)
            names.push_back(command.name);
        return fail(ErrorCode::Usage, "the manual has no page `" + topic + "`", {},
            nearestHint(topic, names, Hint::command("help") + " lists the pages"));
    }
    if (output.json()) {
        writeHelpJson(output.answer(), {&program(), &*verb});
        return kExitDone;
    }
    writeHelp(output.answer(), output.answerStyle(), {&program(), &*verb}, textWidth(STDOUT_FILENO));
    return kExitDone;
}

} // namespace

Command helpCommand()
{
    return {
        .name = "help",
        .summary = "print a page of the manual",
        .description
        = {"Prints a page of the manual as Markdown. Without TOPIC it lists the pages. The name of a "
           "command prints its help, and `man` the manual page for man(1), which has all commands."},
        .positionals = {{.name = "TOPIC",
            .kind = ValueKind::Choice,
            .help = "A page of the manual, or a command.",
            .required = false,
            .choices = topics()}},
        .commonOptions = outputOptions(),
        .examples = {{"shardscope help concepts", "How does ZeRO store a training state?"},
            {"shardscope help troubleshooting | less", "What does this message mean?"},
            {"shardscope help man | man -l -", "All commands and options on one page:"}},
        .run = runHelp,
        .reads = true,
    };
}

} // namespace shardscope::cli
