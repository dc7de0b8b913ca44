// SPDX-License-Identifier: Apache-2.0
#include "app/cli/frame/completion_script.h"

#include <fmt/format.h>

namespace shardscope::cli {

namespace {

std::string quotedWord(std::string_view text)
{
    std::string out = "'";
    for (const char c : text)
        out += c == '\'' || c == '\\' ? std::string{'\\', c} : std::string(1, c);
    return out + "'";
}

std::string firstSentence(const std::string& help)
{
    return help.substr(0, help.find_first_of(".;:"));
}

void writeOption(
    std::string& out, const std::string& program, const std::string& condition, const Option& option)
{
    out += fmt::format("complete -c {} -n {} -l {}", program, quotedWord(condition), option.name.substr(2));
    if (option.letter != 0)
        out += fmt::format(" -s {}", option.letter);
    switch (option.kind) {
    case ValueKind::Flag:
        break;
    case ValueKind::Choice: {
        std::string list;
        for (const std::string& choice : option.choices)
            list += (list.empty() ? "" : " ") + choice;
        out += " -x -a " + quotedWord(list);
        break;
    }
    case ValueKind::Folder:
    case ValueKind::NewFolder:
        out += " -x -a '(__fish_complete_directories)'";
        break;
    case ValueKind::File:
    case ValueKind::NewFile:
    case ValueKind::Path:
        out += " -r -F";
        break;
    default:
        out += " -x";
    }
    out += " -d " + quotedWord(firstSentence(option.help)) + "\n";
}

void writeCommand(
    std::string& out, const std::string& program, const Command& command, const std::string& condition)
{
    for (const auto* options : {&command.options, &command.commonOptions}) {
        for (const Option& option : *options)
            writeOption(out, program, condition, option);
    }
    for (const Positional& positional : command.positionals) {
        if (positional.kind == ValueKind::Choice) {
            for (const std::string& choice : positional.choices)
                out += fmt::format("complete -c {} -n {} -f -a {}\n", program, quotedWord(condition), choice);
        } else if (positional.kind != ValueKind::Text) {
            out += fmt::format("complete -c {} -n {} -F\n", program, quotedWord(condition));
        }
    }
    if (command.children.empty())
        return;
    std::string names;
    for (const Command& child : command.children)
        names += " " + child.name;
    const std::string none = condition + "; and not __fish_seen_subcommand_from" + names;
    for (const Command& child : command.children)
        out += fmt::format("complete -c {} -n {} -f -a {} -d {}\n", program, quotedWord(none), child.name,
            quotedWord(child.summary));
}

} // namespace

std::string fishCompletion(const Command& program)
{
    std::string out = fmt::format(
        "# fish completion for {0}; made by `{0} completion fish`\ncomplete -c {0} -f\n", program.name);
    writeCommand(out, program.name, program, "__fish_use_subcommand");
    for (const Command& child : program.children) {
        // Only the first word names the verb: `shardscope plan reshard` is a plan.
        const std::string condition = fmt::format("test (count (commandline -opc)) -gt 1; "
                                                  "and test (commandline -opc)[2] = {}",
            child.name);
        writeCommand(out, program.name, child, condition);
        for (const Command& inner : child.children)
            writeCommand(
                out, program.name, inner, condition + "; and __fish_seen_subcommand_from " + inner.name);
    }
    return out;
}

} // namespace shardscope::cli
