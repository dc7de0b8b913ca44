// SPDX-License-Identifier: Apache-2.0
#include "core/base/finding_codes.h"
#include "core/base/text.h"
#include "core/doctor/check_context.h"
#include "core/doctor/finding_sink.h"

#include <algorithm>
#include <set>

namespace shardscope::diagnosis {

namespace {

std::set<std::string> layerFiles(const std::vector<FolderEntry>& folder)
{
    std::set<std::string> out;
    for (const FolderEntry& entry : folder) {
        if (entry.parsed && entry.parsed->role == FileRole::LayerStates)
            out.insert(entry.name);
    }
    return out;
}

/// The tags before and after the examined one.
std::vector<std::string> neighbours(const Discovery& found)
{
    std::vector<std::string> out;
    const auto at = std::find(found.tags.begin(), found.tags.end(), found.tag);
    if (at == found.tags.end())
        return out;
    if (at != found.tags.begin())
        out.push_back(*std::prev(at));
    if (std::next(at) != found.tags.end())
        out.push_back(*std::next(at));
    return out;
}

/// A layer with tied parameters, or with none of its own, is recorded in no other file. But every save of a
/// run has the same layers.
Status look(const CheckContext& context, FindingSink& sink)
{
    const std::set<std::string> here = layerFiles(context.tag);
    if (here.empty())
        return {};
    std::set<std::string> reported;
    if (context.checkpoint) {
        for (const Finding& finding : context.checkpoint->findings)
            reported.insert(finding.where.file());
    }
    Status listed;
    for (const std::string& tag : neighbours(context.found)) {
        const auto entries = folderEntries(context.files, context.found.runFolder / tag);
        if (!entries) {
            listed = forward(entries.error());
            continue;
        }
        const std::set<std::string> there = layerFiles(*entries);
        if (!std::includes(there.begin(), there.end(), here.begin(), here.end()))
            continue;
        for (const std::string& name : there) {
            if (!here.contains(name) && reported.insert(name).second)
                sink.add(Severity::Error, "the file of a layer is missing", name,
                    {"tag `" + toValidUtf8(tag) + "` of the run has it"});
        }
    }
    return listed;
}

} // namespace

/// Optimizer files are there, but mp_rank_* or zero_pp_rank_*_model_states.pt of a rank is missing. Or a
/// stage's layer_NN-model_states.pt is missing, which other tags of the run have.
extern const Diagnosis kModelStatesMissing;
const Diagnosis kModelStatesMissing{
    .code = code::kModelStatesMissing,
    .letter = "L7",
    .name = "Model files are missing",
    .depth = CheckDepth::Names,
    .countsFiles = true,
    .worst = Severity::Error,
    .means = {.loading = "Stock DeepSpeed opens the model file first and stops without it.",
        .resuming = "Counters, scheduler, buffers and frozen weights are in that file.",
        .exporting = "Names and shapes of parameters are in that file, and not in the shards."},
    .remedy = "restore the file; or rebuild it from another tag's, with this tag's counters and with weights "
              "from the masters",
    .repairs = true,
    .threads = "DS#3377, finetrainers#29, DS#1322, DS#7599",
    .look = look,
};

} // namespace shardscope::diagnosis
