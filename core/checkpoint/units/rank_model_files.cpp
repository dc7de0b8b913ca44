// SPDX-License-Identifier: Apache-2.0
// Reads fragments of frozen parameters, which ZeRO-3 keeps in the model files of all ranks.
#include "core/checkpoint/units/rank_model_files.h"

#include "core/base/finding_codes.h"
#include "core/base/text.h"
#include "core/checkpoint/folder/file_loader.h"
#include "core/checkpoint/folder/reading_state.h"
#include "core/checkpoint/units/consistency.h"
#include "core/checkpoint/units/unit_states.h"
#include "core/torchfile/torch_files.h"

#include <span>
#include <vector>

namespace shardscope {

namespace {

/// Model files with more records are dropped after their facts are read: 1,000 such files would fill memory.
constexpr uint64_t kKeepRecords = 4096;

void takeFrozenFragments(const Reading& reading, uint32_t rank)
{
    Checkpoint& out = reading.out;
    const FileId file = out.modelFiles[rank];
    const PickleGraph& graph = reading.content(file)->pickle();
    const auto items = mappingItems(graph, lookup(graph, graph.root(), "frozen_param_fragments"));
    for (size_t i = 0; i + 1 < items.size(); i += 2) {
        const auto name = asString(graph, items[i]);
        const auto id = name ? out.findParam(*name) : std::nullopt;
        if (!id || out.params[index(*id)].unit == kNoUnit)
            continue;
        FlatUnit& unit = out.units[index(out.params[index(*id)].unit)];
        DType dtype = DType::Unknown;
        const auto run
            = unit.kind == UnitKind::Frozen ? flatRun(reading, file, items[i + 1], dtype) : std::nullopt;
        if (!run)
            continue;
        if (run->elements != unit.partition.partitionElements()) {
            reading.add(code::kStateLength, Severity::Error,
                "the frozen fragment has another length than the layout", out.file(file).name,
                {formatAddress(ParamAddress{std::string(*name), "weight"}),
                    std::to_string(run->elements) + " stored",
                    std::to_string(unit.partition.partitionElements()) + " expected"});
            continue;
        }
        unit.states.front().dtype = dtype;
        unit.states.front().perRank[rank] = *run;
    }
}

} // namespace

Status addFrozenUnits(Reading& reading)
{
    Checkpoint& out = reading.out;
    for (uint32_t i = 0; i < out.params.size(); ++i) {
        Parameter& param = out.params[i];
        if (param.role != ParamRole::Frozen || param.sharedWith != kNoParam || param.elements == 0
            || out.wholeOf(ParamId{i}) != nullptr)
            continue;
        FlatUnit unit;
        unit.kind = UnitKind::Frozen;
        unit.params = {ParamId{i}};
        SHARDSCOPE_TRY(unit.partition, FlatPartition::sliced({param.elements}, reading.worldSize));
        UnitState weight;
        weight.name = "weight";
        weight.perRank.resize(reading.worldSize);
        unit.states.push_back(std::move(weight));
        param.unit = UnitId{static_cast<uint32_t>(out.units.size())};
        out.units.push_back(std::move(unit));
    }
    for (uint32_t rank = 0; rank < out.modelFiles.size(); ++rank) {
        if (reading.content(out.modelFiles[rank]) != nullptr)
            takeFrozenFragments(reading, rank);
    }
    return {};
}

Status readOtherModelFiles(Reading& reading)
{
    Checkpoint& out = reading.out;
    if (reading.depth == OpenDepth::Structure)
        return {};
    std::vector<uint64_t> bytes;
    for (const FileId file : out.modelFiles)
        bytes.push_back(out.file(file).identity.bytes);
    for (uint32_t begin = 0; begin < out.modelFiles.size();) {
        SHARDSCOPE_CHECK(reading.job.poll());
        std::vector<FileId> batch;
        const uint32_t end
            = begin + static_cast<uint32_t>(filesToOpenTogether(std::span(bytes).subspan(begin)));
        for (uint32_t rank = begin; rank < end; ++rank) {
            if (reading.content(out.modelFiles[rank]) == nullptr)
                batch.push_back(out.modelFiles[rank]);
        }
        SHARDSCOPE_CHECK(loadFiles(reading, batch));
        for (uint32_t rank = begin; rank < end; ++rank) {
            const FileId file = out.modelFiles[rank];
            if (file == out.templateModel || reading.content(file) == nullptr)
                continue;
            checkModelFile(reading, file);
            takeFrozenFragments(reading, rank);
            if (out.file(file).recordCount > kKeepRecords)
                out.files[index(file)].content.reset();
        }
        begin = end;
    }
    return {};
}

} // namespace shardscope
