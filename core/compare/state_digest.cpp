// SPDX-License-Identifier: Apache-2.0
#include "core/compare/state_digest.h"

#include "core/base/parallel.h"
#include "core/checkpoint/experts.h"
#include "core/checkpoint/scalar_text.h"
#include "core/compare/file_scan.h"
#include "core/torchfile/pickle_values.h"

#include <array>
#include <cstdio>
#include <mutex>
#include <optional>

namespace shardscope {

namespace {

std::string numberText(double value)
{
    std::array<char, 40> text{};
    std::snprintf(text.data(), text.size(), "%.17g", value);
    return text.data();
}

/// The group's name says nothing but at which degree its experts are spread.
bool namesExpertDegree(std::string_view key, std::optional<std::string_view> value)
{
    return key == "name" && value && value->starts_with(kExpertGroupPrefix);
}

Digest groupScalars(const Checkpoint& checkpoint, const ParamGroup& group, uint32_t number)
{
    Digest sum;
    const std::string name = "group/" + std::to_string(number);
    if (!group.units.empty()) {
        if (const auto step = checkpoint.units[index(group.units.front())].step)
            sum += digestText(name, "step", numberText(*step));
    }
    if (group.options == kNoNode)
        return sum;
    const PickleGraph& graph = checkpoint.file(checkpoint.rank0Optim).content->pickle();
    const auto items = mappingItems(graph, group.options);
    for (size_t i = 0; i + 1 < items.size(); i += 2) {
        const auto key = asString(graph, items[i]);
        if (key && *key != "params" && *key != "step"
            && !namesExpertDegree(*key, asString(graph, items[i + 1])))
            sum += digestText(name, "option/" + std::string(*key), scalarText(graph, items[i + 1]));
    }
    return sum;
}

bool isOfExperts(const Checkpoint& checkpoint, const ParamGroup& group)
{
    if (group.units.empty() || checkpoint.units[index(group.units.front())].params.empty())
        return false;
    const ParamId first = checkpoint.units[index(group.units.front())].params.front();
    return parseExpertName(checkpoint.params[index(first)].name).has_value();
}

Digest allGroupScalars(const Checkpoint& checkpoint)
{
    Digest sum;
    std::optional<Digest> before; // of the group of experts in front
    uint32_t number = 0;
    for (const ParamGroup& group : checkpoint.groups) {
        const bool experts = isOfExperts(checkpoint, group);
        if (experts && before && groupScalars(checkpoint, group, number - 1) == *before)
            continue;
        const Digest scalars = groupScalars(checkpoint, group, number++);
        before = experts ? std::optional(scalars) : std::nullopt;
        sum += scalars;
    }
    return sum;
}

} // namespace

Result<CheckpointScan> scanCheckpoint(
    io::FileSystem& files, const CheckpointPtr& checkpoint, unsigned jobs, bool dropCache, JobContext& job)
{
    const TensorTable table(checkpoint);
    const WholeRuns wholeRuns(*checkpoint, table);
    CheckpointScan out;
    out.tensors.resize(table.size());
    std::vector<FileId> ids;
    for (uint32_t i = 0; i < checkpoint->files.size(); ++i) {
        const CheckpointFile& file = checkpoint->files[i];
        const bool states = file.role == FileRole::ModelStates || file.role == FileRole::OptimStates
            || file.role == FileRole::LayerStates || file.role == FileRole::ExpertStates
            || file.role == FileRole::Swap;
        if (states && file.status != FileStatus::Missing && file.status != FileStatus::Stale)
            ids.push_back(FileId{i});
    }
    out.files.resize(ids.size());
    std::mutex mutex;
    SHARDSCOPE_CHECK(parallelFor(ids.size(), jobs == 0 ? defaultJobs() : jobs, job, [&](size_t i) -> Status {
        std::vector<TensorDigest> digests;
        out.files[i] = scanFile(files, *checkpoint, table, wholeRuns, ids[i], dropCache, digests, job);
        SHARDSCOPE_CHECK(job.poll());
        const std::lock_guard lock(mutex);
        for (const TensorDigest& digest : digests)
            out.tensors[digest.tensor] += digest.digest;
        return {};
    }));
    return out;
}

Digest fingerprintOf(const CheckpointPtr& checkpoint, const std::vector<Digest>& tensors)
{
    return fingerprintOf(checkpoint, tensors,
        checkpoint->isReadable(checkpoint->rank0Optim) ? scalerTexts(*checkpoint) : ScalerTexts());
}

Digest fingerprintOf(
    const CheckpointPtr& checkpoint, const std::vector<Digest>& tensors, const ScalerTexts& scaler)
{
    const TensorTable table(checkpoint);
    Digest sum;
    for (uint32_t i = 0; i < table.size() && i < tensors.size(); ++i) {
        if (table.entry(i).inFingerprint)
            sum += tensors[i];
    }
    if (!checkpoint->isReadable(checkpoint->rank0Optim))
        return sum;
    sum += allGroupScalars(*checkpoint);
    for (const auto& [attribute, value] : scaler)
        sum += digestText("scaler", attribute, value);
    if (checkpoint->isReadable(checkpoint->rank0Model)) {
        const PickleGraph& graph = checkpoint->file(checkpoint->rank0Model).content->pickle();
        const NodeId scheduler = lookup(graph, graph.root(), "lr_scheduler");
        if (scheduler != kNoNode && graph.kind(scheduler) != NodeKind::None)
            sum += digestText("lr_scheduler", "", scalarText(graph, scheduler));
    }
    return sum;
}

} // namespace shardscope
