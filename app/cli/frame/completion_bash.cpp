// SPDX-License-Identifier: Apache-2.0
#include "app/cli/frame/completion_script.h"

#include <fmt/format.h>

namespace shardscope::cli {

namespace {

std::string words(const std::vector<std::string>& list)
{
    std::string out;
    for (const std::string& word : list)
        out += (out.empty() ? "" : " ") + word;
    return out;
}

/// The script line that completes a value; `:` for free text.
std::string offer(ValueKind kind, const std::vector<std::string>& choices)
{
    switch (kind) {
    case ValueKind::Choice:
        return fmt::format("mapfile -t COMPREPLY < <(compgen -W '{}' -- \"$cur\")", words(choices));
    case ValueKind::Folder:
    case ValueKind::NewFolder:
        return "compopt -o filenames; mapfile -t COMPREPLY < <(compgen -d -- \"$cur\")";
    case ValueKind::File:
    case ValueKind::NewFile:
    case ValueKind::Path:
        return "compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")";
    default:
        return ":";
    }
}

struct Script {
    std::string find; ///< steps from one command to the next
    std::string value; ///< by "command option"
    std::string word; ///< by command: options and sub-commands
    std::string place; ///< by "command:argument number"
};

void addCommand(Script& script, const Command& command, const std::string& key)
{
    std::string names;
    for (const auto* options : {&command.options, &command.commonOptions}) {
        for (const Option& option : *options) {
            names += " " + option.name;
            if (option.kind == ValueKind::Flag)
                continue;
            std::string pattern = fmt::format("'{} {}'", key, option.name);
            if (option.letter != 0)
                pattern += fmt::format("|'{} -{}'", key, option.letter);
            script.value
                += fmt::format("        {}) {}; return;;\n", pattern, offer(option.kind, option.choices));
        }
    }
    std::string children;
    for (const Command& child : command.children) {
        children += (children.empty() ? "" : " ") + child.name;
        script.find += fmt::format(
            "            '{0} {1}') command='{0}/{1}'; count=0; continue;;\n", key, child.name);
    }
    script.word
        += fmt::format("        '{}') options='{}'; commands='{}';;\n", key, names.substr(1), children);
    for (size_t i = 0; i < command.positionals.size(); ++i)
        script.place += fmt::format("        '{}:{}') {};;\n", key, i,
            offer(command.positionals[i].kind, command.positionals[i].choices));
    for (const Command& child : command.children)
        addCommand(script, child, key + "/" + child.name);
}

std::string valueOptions(const Command& command)
{
    std::string out;
    for (const auto* options : {&command.options, &command.commonOptions}) {
        for (const Option& option : *options) {
            if (option.kind == ValueKind::Flag)
                continue;
            out += "|" + option.name;
            if (option.letter != 0)
                out += fmt::format("|-{}", option.letter);
        }
    }
    for (const Command& child : command.children)
        out += "|" + valueOptions(child);
    return out.empty() ? out : out.substr(1);
}

} // namespace

std::string bashCompletion(const Command& program)
{
    Script script;
    addCommand(script, program, program.name);
    return fmt::format(R"(# bash completion for {0}; made by `{0} completion bash`
_{0}()
{{
    local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD-1]}}
    local command='{0}' options='' commands='' count=0 i word
    COMPREPLY=()
    for ((i = 1; i < COMP_CWORD; i++)); do
        word=${{COMP_WORDS[i]}}
        case "$command $word" in
{1}        esac
        case "$word" in
            {2}) i=$((i + 1));;
            -*) ;;
            *) count=$((count + 1));;
        esac
    done
    case "$command $prev" in
{3}    esac
    case "$command" in
{4}    esac
    if [[ $cur == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$options" -- "$cur")
        return
    fi
    if [[ -n $commands ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$commands" -- "$cur")
        return
    fi
    case "$command:$count" in
{5}    esac
}}
complete -F _{0} {0}
)",
        program.name, script.find, valueOptions(program), script.value, script.word, script.place);
}

} // namespace shardscope::cli
