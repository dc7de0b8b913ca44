// SPDX-License-Identifier: Apache-2.0
#include "ui/text/window_words.h"

#include <array>

namespace shardscope::ui {

namespace {

/// Longer fragments come before those that they contain.
constexpr std::array<std::pair<std::string_view, std::string_view>, 40> kFragments{{
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
}};

} // namespace

std::string windowWords(std::string_view sentence)
{
    std::string out(sentence);
    for (const auto& [command, window] : kFragments) {
        if (const size_t at = out.find(command); at != std::string::npos)
            out.replace(at, command.size(), window);
    }
    return out;
}

std::span<const std::pair<std::string_view, std::string_view>> windowFragments()
{
    return kFragments;
}

} // namespace shardscope::ui
