// SPDX-License-Identifier: Apache-2.0
#include "app/cli/frame/common_options.h"
#include "app/cli/frame/exit.h"
#include "app/cli/frame/help.h"
#include "app/cli/frame/man_page.h"
#include "app/cli/frame/page_text.h"
#include "app/cli/frame/terminal.h"
#include "app/cli/jobs/session.h"
#include "app/cli/verbs/verbs.h"
#include "core/base/nearest_word.h"
#include "core/report/documents/manual.h"

#include <algorithm>

#include <unistd.h>

namespace shardscope::cli {

namespace {

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
    };
}

} // namespace shardscope::cli
