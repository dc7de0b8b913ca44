// SPDX-License-Identifier: Apache-2.0
#include "ui/text/window_words.h"

#include <array>

namespace shardscope::ui {

namespace {

/// Longer fragments come before those that they contain.
constexpr std::array<std::pair<std::string_view, std::string_view>, 71> kFragments{{
    {"name another checkpoint of the run with --from", "choose another checkpoint of the run as the donor"},
    {"name another checkpoint with --from", "choose another checkpoint as the donor"},
    {"name the base model's weights, or another tag, with --from",
        "choose the base model's weights, or another tag, as the donor"},
    {"the tag to repair with --tag, a donor with --from", "the tag to repair, or a donor"},
    {" (`--from`)", " (as the donor)"},
    {"name their folders with `--root`", "add their folders with Add Folder…"},
    {"pass the other folders to each command with `--root`", "add the other folders with Add Folder…"},
    {"pass the swap folder of the run with `--root`", "add the swap folder of the run with Add Folder…"},
    {"and name this folder with --root", "and add this folder to it"},
    {" (`--root` adds a folder)", " (Add Folder… reads one more)"},
    {"`--donor` salvages a live folder, marked",
        "Open with a Checkpoint of Its Run… salvages a live folder, marked"},
    {"name that checkpoint with --donor", "choose that checkpoint with Open with a Checkpoint of Its Run…"},
    {"`check` explains them, and says which of them `repair` fixes",
        "the page Findings explains them, and says which have a repair"},
    {"name the owner with --tie NAME=OWNER in reshard, convert or export",
        "give the owner as NAME=OWNER in Reshard or Export"},
    {"name the owner of a tie with --tie NAME=OWNER", "give the owner of a tie as NAME=OWNER"},
    {" (`export --format adapter`)", " (Export…)"},
    {"export the LoRA adapter with --format adapter", "export the LoRA adapter, as an adapter"},
    {" (`export --rename`)", " (Export…)"},
    {" (`shardscope export`)", " (Export…)"},
    {"; `reshard` rewrites the list", "; Reshard rewrites the list"},
    {"use `reshard`, which", "use Reshard, which"},
    {"name them: `reshard --optimizer-option KEY=VALUE`", "give them in Reshard, as KEY=VALUE"},
    {"reshard with the `--sub-group-size` that the new run uses",
        "reshard with the sub-group size that the new run uses"},
    {"name with --sub-group-size the size that the resumed run uses",
        "give the sub-group size that the resumed run uses"},
    {" (`repair --set scale=N`)", " (set scale=N in the repair)"},
    {"use `repair --set` for other values", "set other values in the repair"},
    {"; of a repaired copy, `repair --undo` returns to the source",
        "; of a repaired copy, Undo Repair… returns to the source"},
    {"check the newer tag (`--tag`)", "check the newer tag"},
    {"; if it is complete, name it to resume from it", "; if it is complete, resume from it"},
    {"run the interrupted command again to continue it; `shardscope clean` lists such folders, and removes "
     "them "
     "with --remove",
        "start the job again to continue it; Clean Up After Jobs… lists such folders, and removes them"},
    {"name the stage of the new run with --stage 0, 1, 2 or 3", "choose the stage of the new run"},
    {"or replace it with --force", "or replace it"},
    {"or replace the file with --force", "or replace the file"},
    {"choose another name with --tag-out", "choose another tag"},
    {"choose other names with --rename", "choose other names"},
    {"give it another name with --rename", "give it another name"},
    {"remove the prefix with --strip-prefix", "remove the prefix"},
    {" in a file with --patterns", " in a file"},
    {"give a file of patterns with --patterns", "give a file of patterns"},
    {" with --padded-vocab-size", " as the padded vocabulary"},
    {"choose a model with --tag, or give its folder", "open the folder of one model"},
    {"name one with --tag; the newest is `", "choose another tag; the newest is `"},
    {": run the same command again to continue it, or remove it with `shardscope clean --remove`",
        ": start the job again to continue it, or remove it with Clean Up After Jobs…"},
    {": remove it with `shardscope clean --remove`", ": remove it with Clean Up After Jobs…"},
    {"`export` writes the weights alone", "Export… writes the weights alone"},
    {"--allow option-mismatch takes the first rank's for all; `export` does not need them",
        "Export… does not need them"},
    {"`reshard DONOR DST --stage 3 --world-size N` makes one", "Reshard… makes one"},
    {"is what `reshard DONOR DST --world-size N` makes", "is what Reshard… makes"},
    {"--allow swap-mismatch uses it nevertheless; smaller", "smaller"},
    {"give the run's own swap folder with --root", "add the run's own swap folder with Add Folder…"},
    {"name it with --sub-group-size to reshard", "give it as “Sub-group size” in Reshard…"},
    {"specify it with --patterns; without", "give it as “Patterns”; without"},
    {"`convert` takes the patterns of the model from --patterns", "Reshard… takes them as “Patterns”"},
    {"`--format adapter` writes what PEFT loads", "the format Adapter writes what PEFT loads"},
    {"run the same command to continue; --restart starts again", "start the job again to continue"},
    {"name findings with --fix, or --fix all; ", "choose the findings to repair; "},
    {"name one with --tag, and the findings to repair with --fix", "choose one, and the findings to repair"},
    {"give the folder that `repair` wrote", "choose the folder that the repair wrote"},
    {"the folder given to the repair with --root does", "the further folder of the repair does"},
    {"a universal folder (`convert`) is read", "a universal folder is read"},
    {"give them with --pp-layers: the first", "give them as “Layers of stages”: the first"},
    {"`reshard --ep` rewrites them", "Reshard… rewrites them"},
    {"`reshard` rewrites them", "Reshard… rewrites them"},
    {"`export` writes its weights", "Export… writes its weights"},
    {"; `shardscope reshard` restores it", "; Reshard… restores it"},
    {"use `shardscope export` to get", "use Export… to get"},
    {"; --row-major writes for those", ""},
    {"; without --join the slices are digested separately", ""},
    {"without --against the files are", "without a second checkpoint the files are"},
    {"use fewer --jobs, or a smaller --memory-limit", "let fewer jobs run at once (Settings)"},
    {"name --stage0-form: fp16", "choose the optimizer form: fp16"},
}};

/// What shows the answer of a command: of Hint::command() and Hint::verb().
constexpr std::array<std::pair<std::string_view, std::string_view>, 14> kCommands{{
    {"`shardscope check --list`", "the page Findings"},
    {"`shardscope check`", "the page Findings"},
    {"`check`", "the page Findings"},
    {"`shardscope convert --to universal`", "Reshard… to a universal folder"},
    {"`shardscope convert --to dcp`", "Reshard… to a distributed checkpoint"},
    {"`shardscope files --records`", "the page Files"},
    {"`shardscope files`", "the page Files"},
    {"`shardscope inspect`", "the overview"},
    {"`inspect`", "the overview"},
    {"`shardscope layout --address`", "the partition map"},
    {"`shardscope layout`", "the partition map"},
    {"`shardscope params`", "the page Parameters"},
    {"`shardscope plan … -o FILE`", "Save Plan…"},
    {"`verify`", "Verify"},
}};

/// The fields of the dialogs, where a sentence names their option alone.
constexpr std::array<std::pair<std::string_view, std::string_view>, 25> kOptions{{
    {"--adapter-option", "“Adapter”"},
    {"--dtype", "“Dtype”"},
    {"--ep", "“Parallel ranks”, ep,"},
    {"--fix", "the findings to repair"},
    {"--force", "“Replace an existing target”"},
    {"--format", "“Format”"},
    {"--jobs", "“Jobs at once”"},
    {"--kind", "“Open As”"},
    {"--only", "“Only”"},
    {"--optimizer-option", "“Options”"},
    {"--patterns", "“Patterns”"},
    {"--pp", "“Parallel ranks”, pp,"},
    {"--pp-layers", "“Layers of stages”"},
    {"--pp-tied", "“Tied layers”"},
    {"--rename", "“Rename”"},
    {"--restart", "a new start (Clean Up After Jobs…)"},
    {"--shard-size", "“Size of a file”"},
    {"--stage", "“Result”"},
    {"--states", "“States”"},
    {"--strip-prefix", "“Strip prefix”"},
    {"--sub-group-size", "“Sub-group size”"},
    {"--tag", "the tag"},
    {"--tag-out", "“Tag”"},
    {"--tp", "“Parallel ranks”, tp,"},
    {"--world-size", "“GPUs”"},
}};

void replaceFirst(std::string& text, std::string_view from, std::string_view by)
{
    if (const size_t at = text.find(from); at != std::string::npos)
        text.replace(at, from.size(), by);
}

/// Whole words only: "--pp" is no part of "--pp-layers". Backticks around it go, too.
void replaceOption(std::string& text, std::string_view option, std::string_view field)
{
    constexpr std::string_view kInName = "abcdefghijklmnopqrstuvwxyz0123456789-";
    for (size_t at = text.find(option); at != std::string::npos; at = text.find(option, at)) {
        size_t end = at + option.size();
        if ((end < text.size() && kInName.find(text[end]) != std::string_view::npos)
            || (at > 0 && kInName.find(text[at - 1]) != std::string_view::npos)) {
            at = end;
            continue;
        }
        if (at > 0 && text[at - 1] == '`') {
            --at;
            if (const size_t close = text.find('`', end); close != std::string::npos)
                text.erase(close, 1);
        }
        std::string_view by = field;
        if (by.ends_with(',') && (end == text.size() || text[end] != ' '))
            by.remove_suffix(1);
        text.replace(at, end - at, by);
        at += by.size();
    }
}

} // namespace

std::string windowWords(std::string_view sentence)
{
    std::string out(sentence);
    for (const auto& [command, window] : kFragments)
        replaceFirst(out, command, window);
    for (const auto& [command, window] : kCommands)
        replaceFirst(out, command, window);
    for (const auto& [option, field] : kOptions)
        replaceOption(out, option, field);
    return out;
}

std::span<const std::pair<std::string_view, std::string_view>> windowCommands()
{
    return kCommands;
}

std::span<const std::pair<std::string_view, std::string_view>> windowOptions()
{
    return kOptions;
}

std::span<const std::pair<std::string_view, std::string_view>> windowFragments()
{
    return kFragments;
}

} // namespace shardscope::ui
