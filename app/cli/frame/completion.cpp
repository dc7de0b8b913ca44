// SPDX-License-Identifier: Apache-2.0
#include "app/cli/frame/completion.h"

#include "app/cli/frame/arguments.h"

#include <algorithm>
#include <utility>

namespace shardscope::cli {

namespace {

// The program is called as it was typed, because it need not be in PATH.
constexpr std::string_view kBash = R"(# bash completion for shardscope; made by `shardscope completion bash`
_shardscope()
{
    local cur=${COMP_WORDS[COMP_CWORD]} kind=words word
    COMPREPLY=()
    {
        read -r kind
        while IFS=$'\t' read -r word _; do COMPREPLY+=("$word"); done
    } < <("${COMP_WORDS[0]/#\~\//$HOME/}" __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
    case $kind in
    files) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$cur");;
    folders) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -d -- "$cur");;
    esac
}
complete -F _shardscope shardscope
)";

// When zsh autoloads the file from $fpath, the file is the body of the function. When it is sourced, it
// registers itself.
constexpr std::string_view kZsh = R"(#compdef shardscope
# zsh completion for shardscope; made by `shardscope completion zsh`
_shardscope()
{
    local -a answer candidates
    answer=("${(@f)$(${~words[1]} __complete "${(@Q)words[2,CURRENT]}" 2>/dev/null)}")
    case $answer[1] in
    files) _files;;
    folders) _files -/;;
    *)
        candidates=("${(@)answer[2,-1]//:/\\:}")
        candidates=("${(@)candidates/$'\t'/:}")
        _describe value candidates;;
    esac
}
if [ "$funcstack[1]" = "_shardscope" ]; then
    _shardscope "$@"
else
    compdef _shardscope shardscope
fi
)";

constexpr std::string_view kFish = R"(# fish completion for shardscope; made by `shardscope completion fish`
function __shardscope_complete
    set -l typed (commandline -opc)
    set -l current (commandline -ct)
    set -l program (string replace -r '^~/' "$HOME/" -- $typed[1])
    set -l answer (command $program __complete $typed[2..-1] "$current" 2>/dev/null)
    switch "$answer[1]"
        case files
            __fish_complete_path "$current"
        case folders
            __fish_complete_directories "$current" ''
        case '*'
            printf '%s\n' $answer[2..-1]
    end
end
complete -c shardscope -f -a '(__shardscope_complete)'
)";

constexpr std::pair<std::string_view, std::string_view> kScripts[]
    = {{"bash", kBash}, {"zsh", kZsh}, {"fish", kFish}};

/// The lines of an answer.
class Offers
{
public:
    explicit Offers(std::string_view typed)
        : m_typed(typed)
    {
    }

    void add(std::string_view word, std::string_view meaning = {})
    {
        if (!word.starts_with(m_typed))
            return;
        m_words += word;
        if (!meaning.empty()) // its first sentence
            (m_words += '\t') += meaning.substr(0, meaning.find_first_of(".;:"));
        m_words += '\n';
    }

    void addValue(ValueKind kind, const std::vector<std::string>& choices)
    {
        if (kind == ValueKind::Folder || kind == ValueKind::NewFolder)
            m_kind = "folders\n";
        else if (kind == ValueKind::File || kind == ValueKind::NewFile || kind == ValueKind::Path)
            m_kind = "files\n";
        for (const std::string& choice : choices)
            add(choice);
    }

    [[nodiscard]] std::string text() const { return m_kind + m_words; }

private:
    std::string_view m_typed;
    std::string m_kind = "words\n";
    std::string m_words;
};

} // namespace

std::string completionsOf(const Command& program, std::span<const std::string> words)
{
    const Command* command = &program;
    const Option* valueOf = nullptr; // the option that the next word is the value of
    size_t arguments = 0;
    for (const std::string& word : words.first(words.empty() ? 0 : words.size() - 1)) {
        if (std::exchange(valueOf, nullptr) != nullptr)
            continue;
        const auto child = std::ranges::find(command->children, word, &Command::name);
        const Option* option = findOption(*command, word);
        if (option != nullptr && option->kind != ValueKind::Flag)
            valueOf = option;
        else if (child != command->children.end())
            command = &*child;
        else if (!word.starts_with('-'))
            ++arguments;
    }
    const std::string_view typed = words.empty() ? std::string_view() : words.back();
    Offers offers(typed);
    if (valueOf != nullptr) {
        offers.addValue(valueOf->kind, valueOf->choices);
    } else if (typed.starts_with('-')) {
        for (const auto* options : {&command->options, &command->commonOptions}) {
            for (const Option& option : *options)
                offers.add(option.name, option.help);
        }
    } else if (!command->children.empty()) {
        for (const Command& child : command->children)
            offers.add(child.name, child.summary);
    } else if (!command->positionals.empty()) {
        const Positional& last = command->positionals.back();
        if (arguments < command->positionals.size())
            offers.addValue(command->positionals[arguments].kind, command->positionals[arguments].choices);
        else if (last.repeats)
            offers.addValue(last.kind, last.choices);
    }
    return offers.text();
}

std::optional<std::string> completionScript(std::string_view shell)
{
    for (const auto& [name, script] : kScripts) {
        if (name == shell)
            return std::string(script);
    }
    return {};
}

std::vector<std::string> completionShells()
{
    std::vector<std::string> out;
    for (const auto& entry : kScripts)
        out.emplace_back(entry.first);
    return out;
}

} // namespace shardscope::cli
