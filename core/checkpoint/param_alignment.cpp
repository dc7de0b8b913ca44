// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/fused_experts.h"
#include "core/checkpoint/reading.h"

#include "core/base/finding_codes.h"

#include <algorithm>
#include <numeric>

namespace shardscope {

namespace {

constexpr uint32_t kBoundary = 16; ///< bytes of the model's dtype, on which every parameter starts

NodeId recordedPaddings(const PickleGraph& graph)
{
    const NodeId wrapper = lookup(graph, graph.root(), "optimizer_state_dict");
    return lookup(graph, wrapper, "param_alignment_paddings");
}

std::span<const NodeId> paddingsOf(const PickleGraph& graph)
{
    return sequenceItems(graph, recordedPaddings(graph));
}

bool hasPaddingBetween(const PickleGraph& graph)
{
    const auto groups = paddingsOf(graph);
    return std::any_of(groups.begin(), groups.end(), [&](NodeId group) {
        const auto items = sequenceItems(graph, group);
        return std::any_of(
            items.begin(), items.end(), [&](NodeId item) { return asInteger(graph, item).value_or(1) != 0; });
    });
}

DType modelTypeOf(const Reading& reading, std::string_view param)
{
    const PickleGraph& graph = reading.content(reading.out.rank0Model)->pickle();
    const NodeId module = lookup(graph, reading.modelRoot, "module");
    if (const auto tensor = asTensor(graph, lookup(graph, module, param)))
        return tensor->dtype;
    return reading.out.precision == "fp32" ? DType::Float32 : DType::Float16;
}

/// Whether one file records the paddings that its rank's units have.
bool recordsThose(const PickleGraph& graph, const Checkpoint& checkpoint, const FusedExperts& fused,
    const std::vector<UnitId>& units)
{
    const auto groups = paddingsOf(graph);
    if (groups.empty()) // long lists of zeros are dropped while reading
        return std::none_of(units.begin(), units.end(), [&](UnitId id) {
            const FlatPartition& partition = checkpoint.units[index(id)].partition;
            return partition.parameterAlignment() > 1
                && partition.paramStart(partition.paramCount()) != partition.payloadElements();
        });
    if (groups.size() != units.size())
        return false;
    for (size_t g = 0; g < units.size(); ++g) {
        const FlatUnit& unit = checkpoint.units[index(units[g])];
        const std::vector<uint32_t> ends = fused.optimizerEnds(checkpoint, unit);
        const auto items = sequenceItems(graph, groups[g]);
        if (items.size() != ends.size())
            return false;
        for (size_t i = 0; i < items.size(); ++i) {
            const auto recorded = asInteger(graph, items[i]);
            if (!recorded || *recorded != static_cast<int64_t>(unit.partition.paddingAfter(ends[i])))
                return false;
        }
    }
    return true;
}

} // namespace

bool isParameterAligned(const Reading& reading, FileId optimFile)
{
    const PickleGraph& graph = reading.content(optimFile)->pickle();
    if (reading.out.kind == CheckpointKind::Bf16 || paddingsOf(graph).empty())
        return false; // before 0.19.8 there was no such layout, and the key that comes with it says so
    if (hasPaddingBetween(graph))
        return true;
    const NodeId option = configValue(reading, {"zero_optimization", "parameter_alignment"});
    return option != kNoNode
        && asBool(reading.content(reading.out.rank0Model)->pickle(), option).value_or(false);
}

uint32_t parameterAlignmentOf(const Reading& reading, std::string_view firstParam)
{
    return kBoundary / std::gcd(kBoundary, itemSize(modelTypeOf(reading, firstParam)));
}

void checkAlignmentPaddings(Reading& reading)
{
    Checkpoint& out = reading.out;
    std::vector<FileId> misfits;
    bool someFit = false;
    const FusedExperts fused = FusedExperts::of(out);
    for (uint32_t rank = 0; rank < out.optimFiles.size(); ++rank) {
        const FileId file = out.optimFiles[rank];
        const TorchFile* content = reading.content(file);
        if (content == nullptr || out.file(file).status == FileStatus::Foreign)
            continue;
        if (recordedPaddings(content->pickle()) == kNoNode)
            continue;
        const bool fits
            = recordsThose(content->pickle(), out, fused, out.unitsOn({rank, out.place.tp, out.place.pp}));
        someFit = someFit || fits;
        if (!fits)
            misfits.push_back(file);
    }
    if (!misfits.empty() && !someFit)
        return reading.noModel({ErrorCode::Damaged,
            "the optimizer file records padding between its parameters that parameter_alignment does not "
            "give "
            "with the shapes of the model file",
            out.file(misfits.front()).path.string(),
            "model file and optimizer files may come from different runs"});
    for (const FileId file : misfits) {
        out.files[index(file)].status = FileStatus::Foreign;
        reading.add(code::kRankForeign, Severity::Error,
            "the file records other padding between its parameters than the other ranks' files",
            out.file(file).name);
    }
}

} // namespace shardscope
