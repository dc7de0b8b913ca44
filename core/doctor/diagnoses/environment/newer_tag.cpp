// SPDX-License-Identifier: Apache-2.0
#include "core/base/text.h"
#include "core/doctor/check_context.h"
#include "core/doctor/finding_sink.h"

#include <algorithm>

namespace shardscope::diagnosis {

namespace {

/// What savers call a folder until it is whole.
bool isStaging(const std::string& name)
{
    return name.starts_with("tmp-") || name.starts_with("tmp_") || name.ends_with(".tmp");
}

Status look(const CheckContext& context, FindingSink& sink)
{
    const Discovery& found = context.found;
    if (found.latest && !found.tag.empty() && *found.latest == found.tag) {
        const auto at = std::find(found.tags.begin(), found.tags.end(), found.tag);
        for (auto tag = at; tag != found.tags.end(); ++tag) {
            if (tag != at)
                sink.add(Severity::Info, "a newer tag is there that `latest` does not name", {},
                    {"`latest` names `" + toValidUtf8(found.tag) + "`",
                        "there is `" + toValidUtf8(*tag) + "`"});
        }
    }
    for (const FolderEntry& entry : context.run) {
        if (entry.isFolder && isStaging(entry.name))
            sink.add(Severity::Info, "a folder of an unfinished save lies in the run folder", {},
                {toValidUtf8(entry.name)});
    }
    return {};
}

} // namespace

/// Tags that a save left behind `latest`: it hung or was stopped before the pointer was written, or somebody
/// went back on purpose.
extern const Diagnosis kNewerTag;
const Diagnosis kNewerTag{
    .code = "newer-tag",
    .letter = "R4",
    .name = "A newer tag than the pointer's",
    .depth = CheckDepth::Names,
    .worst = Severity::Info,
    .means = {.loading = "Stock DeepSpeed loads what `latest` names, which is older.",
        .resuming = "The steps between the two are trained again."},
    .noRemedy = "whether the newer tag is whole tells a check of it (`--tag`); name it to go on from it",
    .threads = "DS#7741, DS#7742, DS#797, NVIDIA-NeMo/Automodel#3254, HF#35580",
    .look = look,
};

} // namespace shardscope::diagnosis
