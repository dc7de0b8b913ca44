// SPDX-License-Identifier: Apache-2.0
#include "core/base/text.h"
#include "core/doctor/check_context.h"
#include "core/doctor/finding_sink.h"
#include "core/doctor/split_folders.h"

namespace shardscope::diagnosis {

namespace {

std::string namesOf(const std::vector<std::string>& files)
{
    constexpr size_t kMax = 4;
    std::string out;
    for (size_t i = 0; i < files.size() && i < kMax; ++i)
        out += (i == 0 ? "" : ", ") + toValidUtf8(files[i]);
    return files.size() > kMax ? out + " and " + std::to_string(files.size() - kMax) + " more" : out;
}

Status look(const CheckContext& context, FindingSink& sink)
{
    if (!context.checkpoint || context.checkpoint->tagFolder.empty())
        return {};
    SHARDSCOPE_TRY(
        const SplitFolders split, findSplitFolders(context.files, *context.checkpoint, context.job));
    if (split.folders.empty())
        return split.notRead ? Status(forward(*split.notRead)) : Status();
    std::vector<std::string> folders;
    std::vector<std::string> evidence;
    for (const io::Path& folder : split.folders) {
        folders.push_back(folder.string());
        evidence.push_back("in " + folder.string());
    }
    if (!split.missing.empty())
        evidence.push_back("missing here: " + namesOf(split.missing));
    evidence.push_back(split.whole ? "together they are complete: nothing is missing, and nothing contradicts"
            : split.left.empty()   ? "together nothing is missing"
                                   : "together they still lack " + namesOf(split.left));
    sink.add(Severity::Error,
        split.folders.size() == 1 ? "missing files are in another folder"
                                  : "missing files are in other folders",
        {}, std::move(evidence), std::move(folders));
    return split.notRead && !split.whole ? Status(forward(*split.notRead)) : Status();
}

} // namespace

/// The files of one step are in several folders. Opened together, nothing may contradict.
extern const Diagnosis kSplitShards;
const Diagnosis kSplitShards{
    .code = shardscope::kSplitShards,
    .letter = "L4",
    .name = "One save in several folders",
    .depth = CheckDepth::Metadata,
    .means = {.loading = "Stock DeepSpeed searches one folder only and stops.",
        .resuming = "Nothing is lost: together the folders are the complete checkpoint.",
        .exporting = "Converters search one folder only."},
    .remedy = "merge them on a copy into one folder, as stock DeepSpeed expects; or pass the other folders "
              "to each command with `--root`",
    .repairs = true,
    .threads = "DS#5405, PL#12864",
    .look = look,
};

} // namespace shardscope::diagnosis
