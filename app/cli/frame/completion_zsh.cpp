// SPDX-License-Identifier: Apache-2.0
#include "app/cli/frame/completion_script.h"

#include <fmt/format.h>

namespace shardscope::cli {

namespace {

/// Text inside single quotes and brackets of an _arguments specification.
std::string quotedWord(std::string_view text)
{
    std::string out;
    for (const char c : text) {
        if (c == '\'')
            out += "'\\''";
        else if (c == '[' || c == ']' || c == ':' || c == '\\')
            out += std::string("\\") + c;
        else
            out += c;
    }
    return out;
}

std::string firstSentence(const std::string& help)
{
    const size_t end = help.find_first_of(".;:");
    return help.substr(0, end);
}

std::string action(ValueKind kind, const std::vector<std::string>& choices)
{
    switch (kind) {
    case ValueKind::Choice: {
        std::string list;
        for (const std::string& choice : choices)
            list += (list.empty() ? "" : " ") + choice;
        return "(" + list + ")";
    }
    case ValueKind::Folder:
    case ValueKind::NewFolder:
        return "_files -/";
    case ValueKind::File:
    case ValueKind::NewFile:
    case ValueKind::Path:
        return "_files";
    default:
        return " ";
    }
}

std::string specification(const Option& option)
{
    std::string body = "[" + quotedWord(firstSentence(option.help)) + "]";
    if (option.kind != ValueKind::Flag)
        body += ":" + option.valueName + ":" + action(option.kind, option.choices);
    if (option.letter == 0)
        return fmt::format("'{}{}{}'", option.repeats ? "*" : "", option.name, body);
    return fmt::format("'(-{0} {1})'{{-{0},{1}}}'{2}'", option.letter, option.name, body);
}

std::string functionName(const std::string& path)
{
    std::string out = "_";
    for (const char c : path)
        out += c == ' ' ? '_' : c;
    return out;
}

void writeFunction(std::string& out, const Command& command, const std::string& path)
{
    out += functionName(path)
        + "() {\n    local context state state_descr line\n    typeset -A opt_args\n    _arguments -C";
    for (const auto* options : {&command.options, &command.commonOptions}) {
        for (const Option& option : *options)
            out += " \\\n        " + specification(option);
    }
    for (size_t i = 0; i < command.positionals.size(); ++i) {
        const Positional& positional = command.positionals[i];
        out += fmt::format(" \\\n        '{}:{}:{}'", positional.repeats ? "*" : std::to_string(i + 1),
            positional.name, action(positional.kind, positional.choices));
    }
    if (command.children.empty()) {
        out += "\n}\n\n";
        return;
    }
    out += " \\\n        '1:command:->command' \\\n        '*::argument:->argument'\n    case $state in\n    "
           "command)\n"
           "        local -a commands=(\n";
    for (const Command& child : command.children)
        out += fmt::format("            '{}:{}'\n", child.name, quotedWord(child.summary));
    out += "        )\n        _describe command commands\n        ;;\n    argument)\n        case $words[1] "
           "in\n";
    for (const Command& child : command.children)
        out += fmt::format("        {}) {};;\n", child.name, functionName(path + " " + child.name));
    out += "        esac\n        ;;\n    esac\n}\n\n";
    for (const Command& child : command.children)
        writeFunction(out, child, path + " " + child.name);
}

} // namespace

std::string zshCompletion(const Command& program)
{
    std::string out = fmt::format(
        "#compdef {0}\n# zsh completion for {0}; made by `{0} completion zsh`\n\n", program.name);
    writeFunction(out, program, program.name);
    // When zsh autoloads the file from $fpath, the file is the body of the function. When it is sourced, it
    // registers itself.
    out += fmt::format(
        "if [ \"$funcstack[1]\" = \"_{0}\" ]; then\n    _{0} \"$@\"\nelse\n    compdef _{0} {0}\nfi\n",
        program.name);
    return out;
}

} // namespace shardscope::cli
