// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/zero/param_alignment.h"

#include "core/base/finding_codes.h"
#include "core/checkpoint/folder/model_header.h"
#include "core/checkpoint/folder/reading_state.h"
#include "core/checkpoint/model/zero_paddings.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace shardscope {

namespace {

constexpr uint32_t kBoundary = 16; ///< bytes: every parameter starts at a multiple, in the model's dtype

DType modelTypeOf(const Reading& reading, std::string_view param)
{
    const PickleGraph& graph = reading.content(reading.out.templateModel)->pickle();
    const NodeId module = lookup(graph, reading.modelRoot, "module");
    if (const auto tensor = asTensor(graph, lookup(graph, module, param)))
        return tensor->dtype;
    return reading.out.precision == "fp32" ? DType::Float32 : DType::Float16;
}

/// Whether the units' parameters are back to back. An empty list implies that.
bool areCompact(const Checkpoint& checkpoint, const std::vector<UnitId>& units)
{
    return std::none_of(units.begin(), units.end(), [&](UnitId id) {
        const FlatPartition& partition = checkpoint.units[index(id)].partition;
        return partition.parameterAlignment() > 1
            && partition.paramStart(partition.paramCount()) != partition.payloadElements();
    });
}

} // namespace

bool isParameterAligned(const Reading& reading, FileId optimFile)
{
    const PickleGraph& graph = reading.content(optimFile)->pickle();
    const auto recorded = RecordedPaddings::of(graph);
    if (hasBf16Optimizer(reading.out.kind) || !recorded || recorded->isEmpty())
        return false; // 0.19.8 introduced this layout together with the key
    if (!recorded->isAllZero())
        return true;
    const NodeId option = configValue(reading, {"zero_optimization", "parameter_alignment"});
    return option != kNoNode
        && asBool(reading.content(reading.out.templateModel)->pickle(), option).value_or(false);
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
    std::map<std::vector<UnitId>, ExpectedPaddings> expected; // experts' ranks have other units
    bool mayBeCompact = true; // no misfit contradicts the layout so far
    for (uint32_t rank = 0; rank < out.optimFiles.size(); ++rank) {
        const FileId file = out.optimFiles[rank];
        const TorchFile* content = reading.content(file);
        if (content == nullptr || out.file(file).status == FileStatus::Foreign)
            continue;
        const auto recorded = RecordedPaddings::of(content->pickle());
        if (!recorded)
            continue;
        const std::vector<UnitId> units = out.unitsOn({rank, out.place.tp, out.place.pp});
        // A list without entries says nothing about the layout. Stock DeepSpeed refuses it, and the doctor
        // reports that.
        if (recorded->isEmpty() && areCompact(out, units))
            continue;
        auto known = expected.find(units);
        if (known == expected.end())
            known = expected.emplace(units, ExpectedPaddings(out, units)).first;
        const bool fits = known->second.areIn(content->pickle());
        someFit = someFit || fits;
        if (fits)
            continue;
        misfits.push_back(file);
        mayBeCompact = mayBeCompact && recorded->isAllZero() && areCompact(out, units);
    }
    if (!someFit && mayBeCompact)
        return; // every file has the same wrong number of zeros: the masters' lengths decide
    if (!misfits.empty() && !someFit)
        return reading.noModel({ErrorCode::Damaged,
            "the optimizer file records padding between its parameters that parameter_alignment does not "
            "give with the shapes of the model file",
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
