// SPDX-License-Identifier: Apache-2.0
#include "core/plan/model/shared_options.h"
#include "core/plan/repair/repair.h"

#include <array>

namespace shardscope {

namespace {

/// An enum whose first value is Default, which has no word.
template <class E>
OptionWord sourceWord(E& value, std::array<const char*, 2> words)
{
    return {[&value, words] { return value == E::Default ? "" : words[static_cast<size_t>(value) - 1]; },
        [&value, words](const std::string& word) { value = static_cast<E>(word == words[0] ? 1 : 2); },
        {words.begin(), words.end()}};
}

OptionFields whatFields(RepairOptions& of)
{
    return {
        {.key = "fix",
            .value = &of.fixes,
            .option = {.name = "--fix",
                .kind = ValueKind::Text,
                .valueName = "CODE",
                .help = "What to repair: findings of `check`, by code or letter, separated by commas, or "
                        "`all`. `all` leaves out info findings, and is refused where split-shards is found: "
                        "name these. Can be repeated.",
                .repeats = true},
            .text = "codes of findings",
            .always = true,
            .commas = true,
            .plain = true},
        {.key = "set",
            .value = &of.values,
            .option = {.name = "--set",
                .kind = ValueKind::Text,
                .valueName = "NAME=VALUE",
                .help = "Set a value: step, global_steps, global_samples, skipped_steps, scale (of the "
                        "loss), lr_scheduler.KEY, or an option of all param groups (lr=1e-4) or of one "
                        "(1:lr=1e-4). The old value may be correct, too. Can be repeated.",
                .repeats = true},
            .text = "NAME=VALUE, of reviewed values",
            .always = true},
    };
}

OptionFields sourceFields(RepairOptions& of)
{
    return {
        {.key = "from",
            .value = &of.donor,
            .option = {.name = "--from",
                .kind = ValueKind::Path,
                .valueName = "PATH",
                .help = "Where to read lost values: another checkpoint of the same run, of any kind and "
                        "number of ranks, or, for frozen parameters and buffers, weights of the base model. "
                        "A lost model file is rebuilt from a checkpoint of the same kind and number of "
                        "ranks. Default: the nearest complete tag."},
            .text = "the other checkpoint that lost values come from"},
        {.key = "masters",
            .value = sourceWord(of.masters, {"copies", "donor"}),
            .option = {.name = "--masters",
                .kind = ValueKind::Choice,
                .valueName = "SOURCE",
                .help = "Where to read lost masters: the 16-bit copies in the model file, or the other "
                        "checkpoint (donor). Default: copies, if there are any.",
                .choices = {"copies", "donor"}}},
        {.key = "moments",
            .value = sourceWord(of.moments, {"zeros", "donor"}),
            .option = {.name = "--moments",
                .kind = ValueKind::Choice,
                .valueName = "SOURCE",
                .help = "Where to read lost optimizer states: the other checkpoint (donor), or zeros. "
                        "Default: donor, if there is one.",
                .choices = {"donor", "zeros"}}},
        {.key = "depth",
            .value = OptionWord{
                [&of] { return std::string(of.depth ? checkDepthName(*of.depth) : std::string_view()); },
                [&of](const std::string& word) { of.depth = parseCheckDepth(word); }, {"metadata", "bytes"}},
            .option = {.name = "--depth",
                .kind = ValueKind::Choice,
                .valueName = "DEPTH",
                .help = "What to read for the findings that --fix names: directories, pickles and a few "
                        "values (metadata), or every byte. Default: what the named findings need; for "
                        "`all`, metadata.",
                .choices = {"metadata", "bytes"}}},
    };
}

} // namespace

OptionFields fieldsOf(RepairOptions& of)
{
    OptionFields out = whatFields(of);
    std::ranges::move(sourceFields(of), std::back_inserter(out));
    out.push_back({.key = "tag_out",
        .value = &of.tagOut,
        .option = {.name = "--tag-out",
            .kind = ValueKind::Text,
            .valueName = "TAG",
            .help = "Name of the repaired tag. Default: the tag of the source."}});
    out.push_back({.key = "latest",
        .value = &of.writePointer,
        .option = {.name = "--no-latest", .help = "Do not write `latest`."},
        .always = true,
        .inverse = true});
    out.push_back(allowField(of.allow,
        "Proceed despite this finding, which stays in the copy. The result is marked. Can be repeated."));
    for (OptionField& field : out)
        field.inFacts = true; // the record of the repair has them
    return out;
}

} // namespace shardscope
