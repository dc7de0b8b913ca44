// SPDX-License-Identifier: Apache-2.0
#include "core/base/text.h"
#include "core/doctor/check_context.h"
#include "core/doctor/finding_sink.h"
#include "core/doctor/split_folders.h"

namespace shardscope::diagnosis {

namespace {

std::string namesOf(const std::vector<std::string>& files)
{
    constexpr size_t kMost = 4;
    std::string out;
    for (size_t i = 0; i < files.size() && i < kMost; ++i)
        out += (i == 0 ? "" : ", ") + toValidUtf8(files[i]);
    return files.size() > kMost ? out + " and " + std::to_string(files.size() - kMost) + " more" : out;
}

Status look(const CheckContext& context, FindingSink& sink)
{
    if (!context.checkpoint || context.checkpoint->tagFolder.empty())
        return {};
    SHARDSCOPE_TRY(
        const SplitFolders split, findSplitFolders(context.files, *context.checkpoint, context.job));
    if (split.folders.empty())
        return split.notRead ? Status(forward(*split.notRead)) : Status();
    std::vector<std::string> evidence = evidenceOf(split.folders);
    if (!split.missing.empty())
        evidence.push_back("missing here: " + namesOf(split.missing));
    evidence.push_back(split.whole ? "together they are whole: nothing is missing, and nothing contradicts"
            : split.left.empty()   ? "together nothing is missing"
                                   : "together they still lack " + namesOf(split.left));
    sink.add(Severity::Error,
        split.folders.size() == 1 ? "files that are missing lie in another folder"
                                  : "files that are missing lie in other folders",
        {}, std::move(evidence));
    return split.notRead && !split.whole ? Status(forward(*split.notRead)) : Status();
}

} // namespace

/// One step's files in several folders. Seen by opening them together: nothing may contradict then.
extern const Diagnosis kSplitShards;
const Diagnosis kSplitShards{
    .code = shardscope::kSplitShards,
    .letter = "L4",
    .name = "One save in several folders",
    .depth = CheckDepth::Metadata,
    .means = {.loading = "Stock DeepSpeed looks into one folder and stops.",
        .resuming = "Nothing is lost: together they are the checkpoint.",
        .exporting = "Converters look into one folder."},
    .remedy = "join them on a copy, in one folder as stock DeepSpeed wants them; or name the others as "
              "further roots (`--root`) of whatever is done",
    .repairs = true,
    .threads = "DS#5405, PL#12864",
    .look = look,
};

} // namespace shardscope::diagnosis
