// SPDX-License-Identifier: Apache-2.0
#include "core/doctor/check_context.h"
#include "core/doctor/finding_sink.h"

#include <algorithm>

namespace shardscope::diagnosis {

namespace {

Status look(const CheckContext& context, FindingSink& sink)
{
    uint32_t layers = 0;
    bool first = false;
    for (const FolderEntry& entry : context.tag) {
        const auto& name = entry.parsed;
        if (!name || name->role != FileRole::LayerStates || !name->layer)
            continue;
        ++layers;
        first = first || *name->layer == 1;
    }
    if (layers > 0 && !first)
        sink.add(Severity::Info, "there are layer files, but none for layer 1", {},
            {std::to_string(layers) + " layer files", "modules without parameters have no file"});
    return {};
}

} // namespace

/// Layer files of a pipeline that do not begin with layer_01: converters that expect it reject the folder.
extern const Diagnosis kNamingAssumption;
const Diagnosis kNamingAssumption{
    .code = "naming-assumption",
    .letter = "L10",
    .name = "No file for layer 1",
    .depth = CheckDepth::Names,
    .worst = Severity::Info,
    .means = {.loading = "The engine loads it.",
        .exporting = "DeepSpeedCheckpoint of stock DeepSpeed refuses the folder."},
    .noRemedy = "nothing is wrong: this program does not need a file for layer 1",
    .threads = "DS#5776, EleutherAI/DeeperSpeed#47",
    .look = look,
};

} // namespace shardscope::diagnosis
