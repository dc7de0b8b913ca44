// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/folder/wrapper_files.h"
#include "core/doctor/finding_sink.h"
#include "core/doctor/saved_facts.h"

#include <algorithm>
#include <set>

namespace shardscope::diagnosis {

namespace {

constexpr size_t kMaxNamed = 8;

Status look(const CheckContext& context, FindingSink& sink)
{
    if (!context.checkpoint || context.checkpoint->wrapper.empty())
        return {};
    const Checkpoint& checkpoint = *context.checkpoint;
    // A universal folder is for any number of ranks: the saved number is not relevant.
    if (isUniversal(checkpoint.kind) && !context.target.worldSize)
        return {};
    std::set<std::string_view> there;
    for (const CheckpointFile& file : checkpoint.files) {
        if (!isNextToTag(file.name) || file.status != FileStatus::Ok)
            continue;
        const std::string_view name = std::string_view(file.name).substr(kNextToTag.size());
        if (randomStatesRank(checkpoint.wrapper, name))
            there.insert(name);
    }
    if (there.empty())
        return {}; // the wrapper is configured not to save them, or has none
    const uint32_t ranks = context.target.worldSize.value_or(checkpoint.parallel.ranks());
    size_t count = 0;
    std::vector<std::string> missing;
    for (uint32_t rank = 0; rank < ranks; ++rank) {
        std::string name = randomStatesName(checkpoint.wrapper, rank, ranks);
        if (!there.contains(name) && ++count <= kMaxNamed)
            missing.push_back(std::string(kNextToTag) + std::move(name));
    }
    if (count == 0)
        return {};
    const std::string first = missing.front();
    const bool known = isWrittenByShardscope(context) && !context.target.worldSize;
    sink.add(known ? Severity::Info : Severity::Warning,
        "random states of " + std::to_string(count) + " of " + std::to_string(ranks) + " ranks are missing",
        first, std::move(missing));
    return {};
}

} // namespace

/// Fewer files of random states than ranks.
extern const Diagnosis kRngGap;
const Diagnosis kRngGap{
    .code = "rng-gap",
    .letter = "S17",
    .name = "Random states of some ranks are missing",
    .depth = CheckDepth::Metadata,
    .worst = Severity::Warning,
    .silent = true,
    .means = {.loading = "It loads; wrappers log at most one line.",
        .resuming = "Ranks without a file continue with the random states of a new process: dropout and "
                    "augmentation repeat earlier values, or are equal on several ranks.",
        .exporting = "Weights are not affected."},
    .noRemedy = "streams that were not saved cannot be computed; choose a seed per rank",
    .threads = "TensorAuto/OpenTau#180, HF#14994, DS#8460, MLM#6858",
    .look = look,
};

} // namespace shardscope::diagnosis
