// SPDX-License-Identifier: Apache-2.0
#include "core/base/text.h"
#include "core/doctor/check_context.h"
#include "core/doctor/finding_sink.h"

#include <algorithm>

namespace shardscope::diagnosis {

namespace {

/// Names that savers give to a folder until it is complete.
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
                sink.add(Severity::Info, "there is a newer tag than the one that `latest` names", {},
                    {"`latest` names `" + toValidUtf8(found.tag) + "`",
                        "there is `" + toValidUtf8(*tag) + "`"});
        }
    }
    for (const FolderEntry& entry : context.run) {
        if (entry.isFolder && isStaging(entry.name))
            sink.add(Severity::Info, "the run folder contains the folder of an unfinished save", {},
                {toValidUtf8(entry.name)});
    }
    return {};
}

} // namespace

/// Tags newer than `latest`: the save was stopped before it wrote the pointer, or a user reset `latest` on
/// purpose.
extern const Diagnosis kNewerTag;
const Diagnosis kNewerTag{
    .code = "newer-tag",
    .letter = "R4",
    .name = "A newer tag than `latest` names",
    .depth = CheckDepth::Names,
    .worst = Severity::Info,
    .means = {.loading = "Stock DeepSpeed loads what `latest` names, which is older.",
        .resuming = "The steps between the two are trained again."},
    .noRemedy = "check the newer tag (`--tag`); if it is complete, name it to resume from it",
    .threads = "DS#7741, DS#7742, DS#797, NVIDIA-NeMo/Automodel#3254, HF#35580",
    .look = look,
};

} // namespace shardscope::diagnosis
