// SPDX-License-Identifier: Apache-2.0
#include "core/plan/reshard_context.h"

#include "core/base/text.h"

#include <algorithm>

namespace shardscope {

namespace {

Status checkRunsPresent(const Checkpoint& source)
{
    for (const FlatUnit& unit : source.units) {
        for (const UnitState& state : unit.states) {
            for (size_t at = 0; at < state.perParam.size(); ++at) {
                const Parameter& param = source.params[index(unit.params[at])];
                if (!state.perParam[at].isPresent() && param.elements > 0)
                    return fail(ErrorCode::Refused,
                        "state `" + state.name + "` of parameter `" + toValidUtf8(param.name)
                            + "` is not there, so it cannot be carried",
                        source.tagFolder.string());
            }
            for (uint32_t rank = 0; rank < state.perRank.size(); ++rank) {
                if (state.perRank[rank].isPresent() || unit.partition.partitionElements() == 0)
                    continue;
                const std::string name
                    = unit.params.empty() ? "" : source.params[index(unit.params.front())].name;
                return fail(ErrorCode::Refused,
                    "state `" + state.name + "` is not there on rank " + std::to_string(rank)
                        + " (first parameter `" + toValidUtf8(name) + "`), so it cannot be carried",
                    source.tagFolder.string());
            }
        }
    }
    return {};
}

/// Source files in rank order, optimizer files first. Model files are listed where something is copied from
/// them.
Status addSources(io::FileSystem& files, const Checkpoint& source, ReshardContext& out, JobContext& job)
{
    std::vector<uint32_t> map(source.files.size(), Segment::kZero);
    const auto add = [&](FileId id) -> Status {
        const CheckpointFile& file = source.file(id);
        std::shared_ptr<const TorchFile> content = file.content;
        if (!content) // dropped after its facts were taken: read its directory again
        {
            SHARDSCOPE_TRY(content, TorchFile::open(files, file.path, ReadMode::Tolerant, job));
        }
        map[index(id)] = static_cast<uint32_t>(out.sources.size());
        out.sources.push_back({file.path, file.name, content->identity(), content->zip().records()});
        return {};
    };
    for (const FileId id : source.optimFiles)
        SHARDSCOPE_CHECK(add(id));
    bool frozen = false;
    for (const FlatUnit& unit : source.units)
        frozen = frozen || unit.kind == UnitKind::Frozen;
    for (const FileId id : source.modelFiles) {
        if (id == source.rank0Model || frozen)
            SHARDSCOPE_CHECK(add(id));
    }
    out.sourceOfFile = std::make_shared<const std::vector<uint32_t>>(std::move(map));
    return {};
}

void addTensors(const CheckpointPtr& source, ReshardContext& out)
{
    out.table = std::make_shared<const TensorTable>(source);
    for (uint32_t i = 0; i < out.table->size(); ++i) {
        const TensorTable::Entry entry = out.table->entry(i);
        const Parameter& param = source->params[index(entry.param)];
        out.tensors.push_back({param.name, std::string(entry.state), entry.dtype, param.elements});
    }
}

} // namespace

FlatTarget ReshardContext::flatTarget(uint32_t unit, uint32_t state, uint32_t rank) const
{
    FlatTarget out;
    out.source = source;
    out.unit = target.units[unit];
    out.rank = rank;
    out.state = out.unit->states[state].name;
    out.elements = out.unit->states[state].lean ? out.unit->partition.leanElementsOn(rank)
                                                : out.unit->partition.partitionElements();
    out.sourceOfFile = sourceOfFile;
    return out;
}

Result<std::shared_ptr<const ReshardContext>> makeReshardContext(
    io::FileSystem& files, CheckpointPtr source, ReshardTarget target, uint64_t subGroupSize, JobContext& job)
{
    SHARDSCOPE_CHECK(checkRunsPresent(*source));
    auto out = std::make_shared<ReshardContext>();
    out->source = std::move(source);
    out->target = std::move(target);
    out->subGroupSize = subGroupSize;
    SHARDSCOPE_CHECK(addSources(files, *out->source, *out, job));
    addTensors(out->source, *out);
    SHARDSCOPE_TRY(out->optimRecords, readSmallRecords(files, out->optimTemplate()));
    SHARDSCOPE_TRY(out->modelRecords, readSmallRecords(files, out->modelTemplate()));
    return std::shared_ptr<const ReshardContext>(std::move(out));
}

std::vector<MarkedRun> wholeRunsInRecord(const ReshardContext& context, uint32_t record)
{
    const Checkpoint& source = *context.source;
    std::vector<MarkedRun> runs;
    for (uint32_t i = 0; i < source.whole.size(); ++i) {
        const WholeTensor& whole = source.whole[i];
        const uint64_t bytes = whole.run.elements * itemSize(whole.dtype);
        if (whole.run.record == record && whole.run.file == source.rank0Model && whole.contiguous
            && bytes > 0)
            runs.push_back({whole.run.byteOffset, bytes, context.table->indexOfWhole(i)});
    }
    std::sort(runs.begin(), runs.end(), [](const auto& a, const auto& b) { return a.offset < b.offset; });
    uint64_t end = 0;
    std::erase_if(
        runs, [&](const MarkedRun& run) { // views that overlap another one are not digested by themselves
            const bool overlaps = run.offset < end;
            end = overlaps ? end : run.offset + run.bytes;
            return overlaps;
        });
    return runs;
}

NodeId flatTensor(ArchiveComposer& composer, const std::shared_ptr<const ReshardContext>& context,
    uint32_t unit, uint32_t state, uint32_t rank, bool requiresGrad)
{
    FlatTarget target = context->flatTarget(unit, state, rank);
    target.tensorOf = [context, state](ParamId param) { return context->table->indexOf(param, state); };
    const DType dtype = context->target.units[unit]->states[state].dtype;
    const uint64_t elements = target.elements;
    return composer.tensor(dtype, {elements}, requiresGrad, flatCursor(std::move(target)));
}

} // namespace shardscope
