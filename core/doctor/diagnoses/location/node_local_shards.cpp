// SPDX-License-Identifier: Apache-2.0
#include "core/doctor/check_context.h"
#include "core/doctor/finding_sink.h"

#include <algorithm>

namespace shardscope::diagnosis {

namespace {

/// The largest number of ranks per node, from 2, with which the ranks of each node are all there or all
/// missing. 0 where there is no such number, or where one block has all ranks.
uint32_t ranksPerNode(const std::vector<bool>& isThere)
{
    const auto ranks = static_cast<uint32_t>(isThere.size());
    for (uint32_t node = ranks / 2; node >= 2; --node) {
        if (ranks % node != 0)
            continue;
        bool whole = true;
        for (uint32_t rank = 0; rank < ranks && whole; ++rank)
            whole = isThere[rank] == isThere[rank - rank % node];
        if (whole)
            return node;
    }
    return 0;
}

Status look(const CheckContext& context, FindingSink& sink)
{
    if (!context.checkpoint || !context.checkpoint->parts.empty())
        return {};
    const Checkpoint& checkpoint = *context.checkpoint;
    std::vector<bool> isThere;
    for (const FileId file : checkpoint.optimFiles)
        isThere.push_back(file != kNoFile && checkpoint.file(file).status != FileStatus::Missing);
    const auto missing = std::count(isThere.begin(), isThere.end(), false);
    const uint32_t node = missing < 2 ? 0 : ranksPerNode(isThere);
    if (node == 0)
        return {};
    std::vector<std::string> fetch{"ranks come in blocks of " + std::to_string(node)};
    for (uint32_t first = 0; first < isThere.size(); first += node) {
        if (!isThere[first])
            fetch.push_back("fetch the optimizer files of ranks " + std::to_string(first) + " to "
                + std::to_string(first + node - 1) + " from node " + std::to_string(first / node));
    }
    sink.add(Severity::Warning, "the files of whole nodes are missing", {}, std::move(fetch));
    return {};
}

} // namespace

/// The optimizer files of contiguous blocks of ranks are all missing: each node saved to its own disk.
extern const Diagnosis kNodeLocalShards;
const Diagnosis kNodeLocalShards{
    .code = "node-local-shards",
    .letter = "L5",
    .name = "Saved to the disks of several nodes",
    .depth = CheckDepth::Metadata,
    .worst = Severity::Warning,
    .means = {.loading = "Each node of stock DeepSpeed reports the files of the others as missing.",
        .resuming = "Nothing is lost as long as the disks of the other nodes exist.",
        .exporting = "ZeRO-1 and 2 can export weights without them: the model file has 16-bit copies."},
    .remedy
    = "copy the files of the ranks that are listed into one folder, or name their folders with `--root`",
    .threads = "DS#2319, EleutherAI/gpt-neox#750, stanford-crfm/mistral#48, PL#11947, ms-swift#2644, "
               "mosaicml/composer#2715",
    .look = look,
};

} // namespace shardscope::diagnosis
