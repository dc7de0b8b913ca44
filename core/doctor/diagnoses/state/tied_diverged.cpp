// SPDX-License-Identifier: Apache-2.0
#include "core/base/text.h"
#include "core/doctor/finding_sink.h"
#include "core/doctor/saved_facts.h"

#include <array>

namespace shardscope::diagnosis {

namespace {

constexpr uint64_t kSampleBytes = uint64_t{64} << 10;

/// Whether samples from begin, middle and end of two tensors of the same shape and type differ.
Result<bool> differ(
    const CheckContext& context, const TorchFile& file, const TensorView& a, const TensorView& b)
{
    SHARDSCOPE_TRY(const TensorExtent first, file.extentOf(a));
    SHARDSCOPE_TRY(const TensorExtent second, file.extentOf(b));
    if (first.byteOffset == second.byteOffset)
        return false;
    SHARDSCOPE_TRY(const auto opened, context.files.openRead(file.path()));
    const uint64_t bytes = first.bytes;
    const uint64_t sample = std::min(bytes, kSampleBytes);
    std::vector<uint8_t> left(sample);
    std::vector<uint8_t> right(sample);
    for (const uint64_t at : std::array{uint64_t{0}, (bytes - sample) / 2, bytes - sample}) {
        SHARDSCOPE_CHECK(context.job.poll());
        SHARDSCOPE_CHECK(opened->readAt(first.byteOffset + at, left));
        SHARDSCOPE_CHECK(opened->readAt(second.byteOffset + at, right));
        if (left != right)
            return true;
    }
    return false;
}

Status look(const CheckContext& context, FindingSink& sink)
{
    if (!context.hasModel())
        return {};
    const ModelStates model = modelStates(*context.checkpoint);
    if (!model.hasModule())
        return {};
    const PickleGraph& graph = *model.graph;
    const auto items = mappingItems(graph, model.sharedParams);
    for (size_t i = 0; i + 1 < items.size(); i += 2) {
        const auto alias = asString(graph, items[i]);
        const auto owner = asString(graph, items[i + 1]);
        if (!alias || !owner)
            continue;
        const NodeId aliasNode = lookup(graph, model.module, *alias);
        const NodeId ownerNode = lookup(graph, model.module, *owner);
        if (aliasNode == kNoNode || ownerNode == kNoNode || aliasNode == ownerNode)
            continue;
        const auto left = asTensor(graph, aliasNode);
        const auto right = asTensor(graph, ownerNode);
        const bool comparable = left && right && left->isContiguous() && right->isContiguous()
            && left->sizes == right->sizes && left->dtype == right->dtype && left->elements().value_or(0) > 0;
        if (!comparable)
            continue;
        SHARDSCOPE_TRY(const bool diverged, differ(context, *model.file->content, *left, *right));
        if (diverged)
            sink.add(Severity::Error, "the two names of this tied parameter have different values",
                ParamAddress{std::string(*alias), "weight"},
                {"`shared_params` ties it to " + std::string(*owner)});
    }
    return {};
}

} // namespace

/// A tie is recorded, but its copies have different values.
extern const Diagnosis kTiedDiverged;
const Diagnosis kTiedDiverged{
    .code = "tied-diverged",
    .letter = "S9",
    .name = "Tied parameters differ",
    .depth = CheckDepth::Metadata,
    .worst = Severity::Error,
    .silent = true,
    .means = {.loading = "Both names are one parameter in the live model: the copy that is loaded last is "
                         "used, silently; with ZeRO the master is used.",
        .resuming = "The loss jumps if the other copy is the trained one.",
        .exporting = "The owner's values are written, and the other copy is dropped."},
    .remedy = "give both names the owner's values, which match its master",
    .repairs = true,
    .threads = "NVIDIA-NeMo/Automodel#2511, DS#1896, DS#3033",
    .look = look,
};

} // namespace shardscope::diagnosis
