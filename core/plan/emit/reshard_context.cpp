// SPDX-License-Identifier: Apache-2.0
#include "core/plan/emit/reshard_context.h"

#include "core/base/text.h"
#include "core/checkpoint/model/file_names.h"
#include "core/checkpoint/model/layer_masters.h"
#include "core/checkpoint/model/model_states.h"
#include "core/layout/slices/merged_slices.h"
#include "core/partition/held_whole.h"
#include "core/plan/emit/expert_files.h"
#include "core/plan/emit/expert_records.h"
#include "core/plan/emit/stage0_optimizer.h"
#include "core/plan/model/model_types.h"
#include "core/plan/model/source_list.h"
#include "core/tensor/convert.h"
#include "core/torchfile/pickle/pickle_values.h"

#include <algorithm>
#include <numeric>

namespace shardscope {

namespace {

/// What tensors use of a file of which they use little.
std::optional<StorageUse> bloatOf(const TorchFile& file)
{
    StorageUse use = storageUseOf(file);
    return use.isBloated() ? std::optional(std::move(use)) : std::nullopt;
}

/// Optimizer files in rank order, then the model files that something is copied from, then what holds single
/// tensors.
Status addSources(io::FileSystem& files, const Checkpoint& source, ReshardContext& out, JobContext& job)
{
    SourceList list(files, source, job);
    for (const FileId id : source.optimFiles)
        SHARDSCOPE_CHECK(list.add(id));
    const Checkpoint& stored = storedUnder(source);
    if (source.merged) {
        for (const auto& part : stored.parts) {
            for (const FileId id : part->optimFiles)
                SHARDSCOPE_CHECK(list.add(id));
        }
    }
    bool frozen = false;
    for (const FlatUnit& unit : source.units)
        frozen = frozen || unit.kind == UnitKind::Frozen;
    for (const FileId id : source.modelFiles) {
        if (id == source.templateModel || frozen)
            SHARDSCOPE_CHECK(list.add(id));
    }
    for (const ReshardContext::Copied& copied : out.copied)
        SHARDSCOPE_CHECK(list.add(copied.file));
    for (const FlatUnit& unit : stored.units) {
        for (const UnitState& state : unit.states)
            SHARDSCOPE_CHECK(list.addAllOf(state));
    }
    for (const WholeTensor& whole : source.whole) { // those of a model file are there already
        if (hasNoRunFolder(source.kind))
            SHARDSCOPE_CHECK(list.add(whole.run.file));
    }
    out.sources = list.takeSources();
    out.sourceOfFile = list.takeMap();
    return {};
}

/// The files that refills are taken from. What they keep is decided once the refills know them.
Status addDonors(io::FileSystem& files, Refills& refills, ReshardContext& out, JobContext& job)
{
    for (const CheckpointPtr& donor : refills.donors()) {
        SourceList list(files, *donor, job);
        for (const FlatUnit& unit : storedUnder(*donor).units) {
            for (const UnitState& state : unit.states)
                SHARDSCOPE_CHECK(list.addAllOf(state));
        }
        for (const WholeTensor& whole : donor->whole)
            SHARDSCOPE_CHECK(list.add(whole.run.file));
        auto map = std::make_shared<std::vector<uint32_t>>(*list.takeMap());
        for (uint32_t& source : *map) {
            if (source != Segment::kZero)
                source += static_cast<uint32_t>(out.sources.size());
        }
        auto sources = list.takeSources();
        std::move(sources.begin(), sources.end(), std::back_inserter(out.sources));
        refills.setSources(donor.get(), std::move(map));
    }
    return {};
}

/// Whether the model file stores weights in addition to the masters.
bool keepsCopies(CheckpointKind target)
{
    return !partitionsParameters(target) && !isUniversal(target) && !hasTorchOptimizer(target);
}

/// Whether the target has a tensor of the source: all but 16-bit copies of masters where it keeps none,
/// and they do not go along in the files of their layers.
bool isKept(const Checkpoint& source, const TensorTable::Entry& entry, CheckpointKind target)
{
    if (hasTorchOptimizer(target) && entry.isMaster && isMasterOfOtherStage(source, entry.param))
        return false;
    return entry.inFingerprint || keepsCopies(target)
        || source.file(source.wholeOf(entry.param)->run.file).role == FileRole::LayerStates;
}

void addNewWeight(const Checkpoint& source, uint32_t param, DType type, ReshardContext& out)
{
    out.newWeights[param] = static_cast<uint32_t>(out.tensors.size());
    out.tensors.push_back({source.params[param].name, "weight", type, 0, source.params[param].elements});
}

/// In fp32 without ZeRO a pipeline's layer files hold the masters themselves. They go along as the weights
/// that ZeRO keeps in addition to its masters.
void addLayerWeights(const Checkpoint& source, ReshardContext& out)
{
    out.newWeights.assign(source.params.size(), Segment::kNoTensor);
    for (uint32_t i = 0; i < source.params.size(); ++i) {
        const Parameter& param = source.params[i];
        const auto type = valueType(source, ParamId{i});
        if (param.role == ParamRole::Trainable && param.sharedWith == kNoParam && type)
            addNewWeight(source, i, *type, out);
    }
}

bool copiesLayers(const ReshardContext& context)
{
    return std::any_of(
        context.copied.begin(), context.copied.end(), [&](const ReshardContext::Copied& copied) {
            return context.source->file(copied.file).role == FileRole::LayerStates;
        });
}

bool isPipeline(const ReshardContext& context)
{
    const PickleGraph& graph = context.modelTemplate().pickle();
    const NodeId module = modelStates(graph).module;
    return module != kNoNode && graph.kind(module) == NodeKind::None;
}

Status addNewWeights(const Checkpoint& source, ReshardContext& out)
{
    if (isPipeline(out))
        return {}; // its weights are in the files of its layers
    const auto types = moduleTypes(source);
    const auto ofExperts = expertTypes(out);
    out.newWeights.assign(source.params.size(), Segment::kNoTensor);
    for (uint32_t i = 0; i < source.params.size(); ++i) {
        const Parameter& param = source.params[i];
        if (param.role != ParamRole::Trainable || param.sharedWith != kNoParam
            || source.wholeOf(ParamId{i}) != nullptr)
            continue;
        const auto listed = types.find(param.name);
        const auto made = ofExperts.find(param.name);
        const DType type = listed != types.end() ? listed->second
            : made != ofExperts.end()            ? made->second
                                                 : DType::Unknown;
        const auto master = valueType(source, ParamId{i});
        if (type == DType::Unknown || !master || !canConvert(*master, type))
            return fail(ErrorCode::Refused,
                "the model file does not record in which dtype the model keeps `" + toValidUtf8(param.name)
                    + "`",
                source.tagFolder.string());
        addNewWeight(source, i, type, out);
    }
    return {};
}

Status addTensors(const CheckpointPtr& source, ReshardContext& out)
{
    out.table = std::make_shared<const TensorTable>(source);
    for (uint32_t i = 0; i < out.table->size(); ++i) {
        const TensorTable::Entry entry = out.table->entry(i);
        if (!isKept(*source, entry, out.target.kind)) {
            out.planOfTable.push_back(Segment::kNoTensor);
            continue;
        }
        const Parameter& param = source->params[index(entry.param)];
        out.planOfTable.push_back(static_cast<uint32_t>(out.tensors.size()));
        PlanTensor tensor{param.name, std::string(entry.state), entry.dtype, 0, param.elements};
        const auto order = source->transposedOrder(entry.param);
        if (out.target.zenflow && order && !out.table->isWhole(i))
            tensor.columnRows = static_cast<uint32_t>(order->rows);
        out.tensors.push_back(std::move(tensor));
    }
    if (hasTorchOptimizer(source->kind) && !hasTorchOptimizer(out.target.kind) && copiesLayers(out))
        addLayerWeights(*source, out);
    const bool makesExperts = out.refills && !out.refills->model().experts.empty();
    return (out.rebuildsModel || makesExperts) && keepsCopies(out.target.kind) ? addNewWeights(*source, out)
                                                                               : Status();
}

/// Layer files of this part, and experts of its model-parallel rank.
Status addCopied(io::FileSystem& files, ReshardContext& out)
{
    const Checkpoint& source = *out.source;
    if (source.merged && (source.merged->split || source.merged->of->parallel.tp > 1))
        return {}; // layers' files of slices are no files of whole layers
    for (uint32_t i = 0; i < source.files.size(); ++i) {
        const CheckpointFile& file = source.files[i];
        const auto parsed = parseCheckpointFileName(file.name);
        const bool all = source.merged && !source.merged->isStage;
        const bool layer = file.role == FileRole::LayerStates && (all || file.rank == source.place);
        const bool expert = file.role == FileRole::ExpertStates && parsed && parsed->mp == source.modelRank;
        if ((!layer && !expert) || file.status == FileStatus::Stale)
            continue;
        ReshardContext::Copied copied{.file = FileId{i}};
        if (!file.content)
            return fail(ErrorCode::Refused, "`" + file.name + "` was not read, so it cannot be copied",
                file.path.string());
        SHARDSCOPE_TRY(copied.records, readSmallRecords(files, *file.content));
        copied.use = bloatOf(*file.content);
        out.copied.push_back(std::move(copied));
    }
    for (size_t i = 0; out.refills && i < out.refills->model().experts.size(); ++i) {
        const ModelFiles::Expert& expert = out.refills->model().experts[i];
        ReshardContext::Copied made{.file = expert.like};
        SHARDSCOPE_TRY(made.records, readSmallRecords(files, *source.file(expert.like).content));
        made.made = &expert;
        out.copied.push_back(std::move(made));
    }
    return {};
}

Status addCarriedFiles(io::FileSystem& files, const Checkpoint& whole, ReshardContext& out)
{
    const bool universal = isUniversal(out.target.kind);
    const uint32_t ranks = out.target.ranks * out.source->parallel.tp * out.source->parallel.pp;
    out.carried = carriedFiles(whole, universal ? std::nullopt : std::optional(ranks));
    for (CarriedFile& carried : out.carried) {
        carried.source = static_cast<uint32_t>(out.sources.size());
        SHARDSCOPE_TRY(PlanSource source, wholeFileSource(files, whole.file(carried.file), carried));
        out.sources.push_back(std::move(source));
    }
    return {};
}

} // namespace

FlatTarget ReshardContext::flatTarget(uint32_t unit, uint32_t state, uint32_t rank) const
{
    FlatTarget out;
    out.source = source;
    out.unit = target.units[unit];
    out.rank = out.unit->partitionRankOf(rank).value_or(0);
    out.state = out.unit->states[state].name;
    out.elements = out.unit->states[state].lean ? out.unit->partition.leanElementsOn(out.rank)
                                                : out.unit->partition.partitionElements();
    out.sourceOfFile = sourceOfFile;
    out.storedOrder = target.zenflow;
    out.refills = refills;
    return out;
}

Result<std::shared_ptr<const ReshardContext>> makeReshardContext(io::FileSystem& files, CheckpointPtr source,
    ReshardTarget target, bool rebuilds, const Checkpoint* carriesFrom, JobContext& job,
    const std::shared_ptr<Refills>& refills)
{
    if (rebuilds || !isStage0(source->kind)) // else the file is carried with what it lacks
        SHARDSCOPE_CHECK(requireRuns(*source,
            [&](const auto&, const UnitState& state) { return !refills || !refills->has(state.name); }));
    auto out = std::make_shared<ReshardContext>();
    out->source = std::move(source);
    out->target = std::move(target);
    out->rebuilds = rebuilds;
    out->rebuildsModel = rebuilds || (refills && refills->model().rebuilt);
    out->refills = refills;
    SHARDSCOPE_CHECK(addCopied(files, *out));
    SHARDSCOPE_CHECK(addSources(files, *out->source, *out, job));
    if (refills)
        SHARDSCOPE_CHECK(addDonors(files, *refills, *out, job));
    SHARDSCOPE_CHECK(addTensors(out->source, *out));
    SHARDSCOPE_TRY(out->optimRecords, readSmallRecords(files, out->optimTemplate()));
    SHARDSCOPE_TRY(out->modelRecords, readSmallRecords(files, out->modelTemplate()));
    out->modelUse = bloatOf(out->modelTemplate());
    if (carriesFrom != nullptr)
        SHARDSCOPE_CHECK(addCarriedFiles(files, *carriesFrom, *out));
    return std::shared_ptr<const ReshardContext>(std::move(out));
}

uint64_t tensorBytesRead(const ReshardContext& context)
{
    std::vector<uint64_t> bytes;
    for (const PlanTensor& tensor : context.tensors)
        bytes.push_back(tensor.elements * itemSize(tensor.dtype));
    for (uint32_t i = 0; context.refills && i < context.planOfTable.size(); ++i) {
        const TensorTable::Entry entry = context.table->entry(i);
        if (context.planOfTable[i] != Segment::kNoTensor && context.refills->has(entry.state))
            bytes[context.planOfTable[i]] = context.refills->bytesReadFor(entry.param, entry.state);
    }
    return std::accumulate(bytes.begin(), bytes.end(), uint64_t{0});
}

namespace {

/// Where the whole tensors of a file lie, ascending.
std::vector<MarkedRun> wholeRunsOf(const ReshardContext& context, FileId file)
{
    const Checkpoint& source = *context.source;
    std::vector<MarkedRun> runs;
    for (uint32_t i = 0; i < source.whole.size(); ++i) {
        const WholeTensor& whole = source.whole[i];
        const uint64_t bytes = whole.run.elements * itemSize(whole.dtype);
        if (whole.run.isPresent() && whole.run.file == file && whole.contiguous && bytes > 0)
            runs.push_back(
                {whole.run.byteOffset, bytes, context.planOfTable[context.table->indexOfWhole(i)]});
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

std::vector<MarkedRun> runsWithin(const std::vector<MarkedRun>& runs, uint64_t offset, uint64_t bytes)
{
    const auto first = std::lower_bound(
        runs.begin(), runs.end(), offset, [](const MarkedRun& run, uint64_t at) { return run.offset < at; });
    const auto last = std::find_if(
        first, runs.end(), [&](const MarkedRun& run) { return run.offset + run.bytes > offset + bytes; });
    return {first, last};
}

} // namespace

void markRuns(ArchiveComposer& composer, uint32_t source, std::vector<MarkedRun> runs)
{
    const auto shared = std::make_shared<const std::vector<MarkedRun>>(std::move(runs));
    composer.setRecordCursor([source, shared](uint32_t record, uint64_t offset, uint64_t bytes) {
        return markedRecordCursor(source, record, offset, bytes, runsWithin(*shared, offset, bytes));
    });
}

void markWholeTensors(
    ArchiveComposer& composer, const std::shared_ptr<const ReshardContext>& context, FileId file)
{
    markRuns(composer, context->sourceIndex(file), wholeRunsOf(*context, file));
}

Result<OutputFile> composeCopied(
    const std::shared_ptr<const ReshardContext>& context, uint32_t copied, const std::string& name)
{
    const ReshardContext::Copied& from = context->copied[copied];
    if (from.made != nullptr)
        return composeExpert(context, from, name);
    ArchiveComposer composer(*context->source->file(from.file).content, context->sourceIndex(from.file));
    if (from.use)
        composer.leaveOutUnused(*from.use);
    if (hasTorchOptimizer(context->source->kind))
        markStage0Tensors(composer, context, from.file); // its masters
    else
        markWholeTensors(composer, context, from.file);
    if (context->source->file(from.file).role == FileRole::ExpertStates)
        ExpertRecords(*context, 0).replaceInExpertFile(composer);
    return composer.finish(name, from.records);
}

namespace {

/// What `own` keeps of its state: its own share, and what other ranks have of the parameters at its borders,
/// which no digest counts twice.
NodeId heldWholeTensor(ArchiveComposer& composer, const ReshardContext& context, DType dtype, FlatTarget own)
{
    const FlatUnit& unit = *own.unit;
    const HeldWhole held = heldWholeOn(unit.partition, own.rank);
    std::vector<std::function<std::unique_ptr<SegmentCursor>()>> parts;
    const auto addBorder = [&](uint32_t at, uint64_t first, uint64_t elements) {
        if (elements > 0)
            parts.push_back(tensorCursor({context.source, context.sourceOfFile, unit.params[at], own.state,
                DType::Unknown, Segment::kNoTensor, context.refills, first, first + elements}));
    };
    addBorder(held.first, 0, held.before);
    parts.push_back(flatCursor(own));
    if (held.after > 0)
        addBorder(held.last, unit.partition.paramElements(held.last) - held.after, held.after);
    return composer.tensor(dtype, {held.elements()}, false, chainedCursor(std::move(parts)));
}

} // namespace

NodeId flatTensor(ArchiveComposer& composer, const std::shared_ptr<const ReshardContext>& context,
    uint32_t unit, uint32_t state, uint32_t rank, bool requiresGrad)
{
    FlatTarget target = context->flatTarget(unit, state, rank);
    const bool frozen = target.unit->kind == UnitKind::Frozen;
    target.tensorOf = [context, state, frozen](ParamId param) {
        return frozen ? weightTensor(*context, param) : context->tensorOf(param, state);
    };
    const DType dtype = target.unit->states[state].dtype;
    if (target.unit->states[state].heldWhole)
        return heldWholeTensor(composer, *context, dtype, std::move(target));
    const uint64_t elements = target.elements;
    return composer.tensor(dtype, {elements}, requiresGrad, flatCursor(std::move(target)));
}

uint32_t weightTensor(const ReshardContext& context, ParamId param)
{
    const Checkpoint& source = *context.source;
    if (!context.newWeights.empty() && context.newWeights[index(param)] != Segment::kNoTensor)
        return context.newWeights[index(param)];
    if (const WholeTensor* whole = source.wholeOf(param))
        return context
            .planOfTable[context.table->indexOfWhole(static_cast<uint32_t>(whole - source.whole.data()))];
    const FlatUnit* unit = source.unitOf(param);
    return unit != nullptr && unit->group < 0 ? context.tensorOf(param, 0) : Segment::kNoTensor;
}

NodeId wholeTensor(ArchiveComposer& composer, const std::shared_ptr<const ReshardContext>& context,
    ParamId param, std::string_view state, DType dtype, uint32_t tensor, bool requiresGrad)
{
    const Parameter& of = context->source->params[index(param)];
    return composer.tensor(dtype, of.shape, requiresGrad,
        tensorCursor({context->source, context->sourceOfFile, param, std::string(state), dtype, tensor,
            context->refills}));
}

} // namespace shardscope
