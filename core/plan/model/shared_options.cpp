// SPDX-License-Identifier: Apache-2.0
#include "core/plan/model/shared_options.h"

namespace shardscope {

OptionField patternsField(std::optional<std::string>& patterns)
{
    return {.key = "patterns",
        .value = &patterns,
        .option = {.name = "--patterns",
            .kind = ValueKind::File,
            .valueName = "FILE",
            .help = "How to merge and split tensor slices, if the checkpoint does not record it: a JSON "
                    "object with the keys of DeepSpeed's universal_checkpoint_info; their values are lists "
                    "of regular expressions. `shardscope help resharding` explains them."},
        .text = "how tensor slices are merged and split: the JSON text of the named file",
        .idMark = "|"};
}

OptionField tieField(std::vector<std::string>& ties)
{
    return {.key = "ties",
        .value = &ties,
        .option = {.name = "--tie",
            .kind = ValueKind::Text,
            .valueName = "NAME=OWNER",
            .help = "A tie that the checkpoint does not record, for example when one module object is "
                    "registered under two names. The model lists the parameter NAME, but no file holds it: "
                    "it is the same tensor as OWNER. Can be repeated.",
            .repeats = true},
        .idMark = "|s"};
}

OptionField allowField(std::vector<std::string>& allow, std::string help)
{
    // It decides whether there is a plan, not which.
    return {.key = "allow",
        .value = &allow,
        .option = {.name = "--allow",
            .kind = ValueKind::Text,
            .valueName = "CODE",
            .help = std::move(help),
            .repeats = true},
        .text = "codes of findings",
        .always = true,
        .plain = true,
        .inFacts = true};
}

} // namespace shardscope
