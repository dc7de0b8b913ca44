// SPDX-License-Identifier: Apache-2.0
#include "core/plan/reshard_context.h"

#include "core/base/text.h"
#include "core/checkpoint/file_names.h"
#include "core/checkpoint/joined_slices.h"
#include "core/checkpoint/muon.h"
#include "core/plan/muon_momentum.h"
#include "core/tensor/convert.h"
#include "core/torchfile/pickle_values.h"

#include <algorithm>
#include <map>

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

/// Collects the files that a plan reads, each once.
class SourceList
{
public:
    SourceList(io::FileSystem& files, const Checkpoint& source, ReshardContext& out, JobContext& job)
        : m_files(files)
        , m_source(source)
        , m_out(out)
        , m_job(job)
        , m_map(source.files.size(), Segment::kZero)
    {
    }

    Status add(FileId id)
    {
        if (id == kNoFile || m_map[index(id)] != Segment::kZero)
            return {};
        const CheckpointFile& file = m_source.file(id);
        if (file.role == FileRole::Swap)
            return addBare(id, file);
        std::shared_ptr<const TorchFile> content = file.content;
        if (!content) { // dropped after its facts were taken: read its directory again
            SHARDSCOPE_CHECK(m_job.poll());
            SHARDSCOPE_TRY(content, TorchFile::open(m_files, file.path, ReadMode::Tolerant, m_job));
        }
        m_map[index(id)] = static_cast<uint32_t>(m_out.sources.size());
        m_out.sources.push_back({file.path, file.name, content->identity(), content->zip().records()});
        return {};
    }

    void finish() { m_out.sourceOfFile = std::make_shared<const std::vector<uint32_t>>(std::move(m_map)); }

private:
    /// A file of bare elements: one record without a checksum stands for all of it.
    Status addBare(FileId id, const CheckpointFile& file)
    {
        ZipRecord whole;
        whole.name = file.path.filename().string();
        whole.bytes = file.identity.bytes;
        whole.inflatedBytes = whole.bytes;
        whole.crcPresent = false;
        m_map[index(id)] = static_cast<uint32_t>(m_out.sources.size());
        m_out.sources.push_back({file.path, file.name, file.identity, {std::move(whole)}});
        return {};
    }

    io::FileSystem& m_files;
    const Checkpoint& m_source;
    ReshardContext& m_out;
    JobContext& m_job;
    std::vector<uint32_t> m_map;
};

/// Optimizer files in rank order, then the model files that something is copied from, then what holds single
/// tensors.
Status addSources(io::FileSystem& files, const Checkpoint& source, ReshardContext& out, JobContext& job)
{
    SourceList list(files, source, out, job);
    for (const FileId id : source.optimFiles)
        SHARDSCOPE_CHECK(list.add(id));
    const Checkpoint& stored = storedUnder(source);
    if (source.joined) {
        for (const auto& part : stored.parts) {
            for (const FileId id : part->optimFiles)
                SHARDSCOPE_CHECK(list.add(id));
        }
    }
    bool frozen = false;
    for (const FlatUnit& unit : source.units)
        frozen = frozen || unit.kind == UnitKind::Frozen;
    for (const FileId id : source.modelFiles) {
        if (id == source.rank0Model || frozen)
            SHARDSCOPE_CHECK(list.add(id));
    }
    for (const ReshardContext::Copied& copied : out.copied)
        SHARDSCOPE_CHECK(list.add(copied.file));
    for (const FlatUnit& unit : stored.units) {
        for (const UnitState& state : unit.states) {
            for (const StoredRun& run : state.perParam)
                SHARDSCOPE_CHECK(list.add(run.file));
            for (const StoredRun& run : state.perRank) { // swap files; the rest is there already
                if (run.isPresent() && source.file(run.file).role == FileRole::Swap)
                    SHARDSCOPE_CHECK(list.add(run.file));
            }
        }
    }
    list.finish();
    return {};
}

/// Whether the model's weights lie beside the masters.
bool keepsCopies(CheckpointKind target)
{
    return target != CheckpointKind::Zero3 && target != CheckpointKind::Universal
        && target != CheckpointKind::Torch;
}

/// Whether the target has a tensor of the source: all but 16-bit copies beside masters where it keeps none,
/// and they do not go along in the files of their layers.
bool isKept(const Checkpoint& source, const TensorTable::Entry& entry, CheckpointKind target)
{
    if (entry.state != "weight" || source.params[index(entry.param)].role != ParamRole::Trainable)
        return true;
    const WholeTensor* whole = source.wholeOf(entry.param);
    return keepsCopies(target)
        || (whole != nullptr && source.file(whole->run.file).role == FileRole::LayerStates);
}

/// The dtype of the model's copy of a parameter, where the module holds no copy but a placeholder.
std::map<std::string_view, DType> placeholderTypes(const Checkpoint& source)
{
    std::map<std::string_view, DType> out;
    const PickleGraph& graph = source.file(source.rank0Model).content->pickle();
    const auto items = mappingItems(graph, lookup(graph, graph.root(), "module"));
    for (size_t i = 0; i + 1 < items.size(); i += 2) {
        const auto name = asString(graph, items[i]);
        const auto tensor = asTensor(graph, items[i + 1]);
        if (name && tensor)
            out.emplace(*name, tensor->dtype);
    }
    return out;
}

Status addNewWeights(const Checkpoint& source, ReshardContext& out)
{
    const auto types = placeholderTypes(source);
    out.newWeights.assign(source.params.size(), Segment::kNoTensor);
    for (uint32_t i = 0; i < source.params.size(); ++i) {
        const Parameter& param = source.params[i];
        if (param.role != ParamRole::Trainable || param.sharedWith != kNoParam
            || source.wholeOf(ParamId{i}) != nullptr)
            continue;
        const auto type = types.find(param.name);
        const auto master = sourceType(source, ParamId{i}, "fp32");
        if (type == types.end() || !master || !canConvert(*master, type->second))
            return fail(ErrorCode::Refused,
                "the model file does not tell in which dtype the model keeps `" + toValidUtf8(param.name)
                    + "`",
                source.tagFolder.string());
        out.newWeights[i] = static_cast<uint32_t>(out.tensors.size());
        out.tensors.push_back({param.name, "weight", type->second, 0, param.elements});
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
        if (out.target.zenflow && order && entry.state != "weight")
            tensor.columnRows = static_cast<uint32_t>(order->rows);
        out.tensors.push_back(std::move(tensor));
    }
    return out.fresh && keepsCopies(out.target.kind) ? addNewWeights(*source, out) : Status();
}

/// Layer files of this part, and experts of its model-parallel rank.
Status addCopied(io::FileSystem& files, ReshardContext& out)
{
    const Checkpoint& source = *out.source;
    if (source.joined && (source.joined->cut || source.joined->of->parallel.tp > 1))
        return {}; // layers' files of slices are no files of whole layers
    for (uint32_t i = 0; i < source.files.size(); ++i) {
        const CheckpointFile& file = source.files[i];
        const auto parsed = parseCheckpointFileName(file.name);
        const bool layer = file.role == FileRole::LayerStates && (source.joined || file.rank == source.place);
        const bool expert = file.role == FileRole::ExpertStates && parsed && parsed->mp == source.modelRank;
        if ((!layer && !expert) || file.status == FileStatus::Stale)
            continue;
        ReshardContext::Copied copied{FileId{i}, {}};
        if (!file.content)
            return fail(ErrorCode::Refused, "`" + file.name + "` was not read, so it cannot go along",
                file.path.string());
        SHARDSCOPE_TRY(copied.records, readSmallRecords(files, *file.content));
        out.copied.push_back(std::move(copied));
    }
    return {};
}

Status addCarriedFiles(io::FileSystem& files, const Checkpoint& whole, ReshardContext& out)
{
    const bool universal = out.target.kind == CheckpointKind::Universal;
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
    return out;
}

Result<std::shared_ptr<const ReshardContext>> makeReshardContext(io::FileSystem& files, CheckpointPtr source,
    ReshardTarget target, uint64_t subGroupSize, bool fresh, const Checkpoint* carriesFrom, JobContext& job)
{
    if (fresh || !isStage0(source->kind)) // else the file is carried with what it lacks
        SHARDSCOPE_CHECK(checkRunsPresent(*source));
    auto out = std::make_shared<ReshardContext>();
    out->source = std::move(source);
    out->target = std::move(target);
    out->subGroupSize = subGroupSize;
    out->fresh = fresh;
    SHARDSCOPE_CHECK(addCopied(files, *out));
    SHARDSCOPE_CHECK(addSources(files, *out->source, *out, job));
    SHARDSCOPE_CHECK(addTensors(out->source, *out));
    SHARDSCOPE_TRY(out->optimRecords, readSmallRecords(files, out->optimTemplate()));
    SHARDSCOPE_TRY(out->modelRecords, readSmallRecords(files, out->modelTemplate()));
    if (carriesFrom != nullptr)
        SHARDSCOPE_CHECK(addCarriedFiles(files, *carriesFrom, *out));
    return std::shared_ptr<const ReshardContext>(std::move(out));
}

namespace {

/// Where the whole tensors of a file lie in one of its records, ascending.
std::vector<MarkedRun> wholeRunsInRecord(const ReshardContext& context, FileId file, uint32_t record)
{
    const Checkpoint& source = *context.source;
    std::vector<MarkedRun> runs;
    for (uint32_t i = 0; i < source.whole.size(); ++i) {
        const WholeTensor& whole = source.whole[i];
        const uint64_t bytes = whole.run.elements * itemSize(whole.dtype);
        if (whole.run.record == record && whole.run.file == file && whole.contiguous && bytes > 0)
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

} // namespace

void markWholeTensors(
    ArchiveComposer& composer, const std::shared_ptr<const ReshardContext>& context, FileId file)
{
    const uint32_t source = context->sourceIndex(file);
    composer.setRecordCursor([context, source, file](uint32_t record) {
        const ZipRecord& from = context->source->file(file).content->zip().records()[record];
        return markedRecordCursor(
            source, record, from.payloadOffset, from.bytes, wholeRunsInRecord(*context, file, record));
    });
}

Result<OutputFile> composeCopied(
    const std::shared_ptr<const ReshardContext>& context, uint32_t copied, const std::string& name)
{
    const ReshardContext::Copied& from = context->copied[copied];
    ArchiveComposer composer(*context->source->file(from.file).content, context->sourceIndex(from.file));
    markWholeTensors(composer, context, from.file);
    return composer.finish(name, from.records);
}

NodeId flatTensor(ArchiveComposer& composer, const std::shared_ptr<const ReshardContext>& context,
    uint32_t unit, uint32_t state, uint32_t rank, bool requiresGrad)
{
    const FlatUnit& of = *context->target.units[unit];
    if (of.states[state].name == kMuonMomentum
        && muonFormOf(
               *context->source, context->target.kind, context->source->groups[static_cast<size_t>(of.group)])
            == MuonForm::HeldWhole)
        return heldWholeTensor(composer, context, unit, state, rank);
    FlatTarget target = context->flatTarget(unit, state, rank);
    const bool frozen = target.unit->kind == UnitKind::Frozen;
    target.tensorOf = [context, state, frozen](ParamId param) {
        return frozen ? weightTensor(*context, param) : context->tensorOf(param, state);
    };
    const DType dtype = context->target.units[unit]->states[state].dtype;
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
    return unit != nullptr && unit->kind == UnitKind::Frozen ? context.tensorOf(param, 0)
                                                             : Segment::kNoTensor;
}

NodeId wholeTensor(ArchiveComposer& composer, const std::shared_ptr<const ReshardContext>& context,
    ParamId param, std::string_view state, DType dtype, uint32_t tensor, bool requiresGrad)
{
    const Parameter& of = context->source->params[index(param)];
    FlatUnit unit;
    unit.kind = UnitKind::Whole;
    unit.params = {param};
    if (auto partition = FlatPartition::contiguous({of.elements}, 1, 1)) // one parameter fits where it did
        unit.partition = std::move(*partition);
    FlatTarget target;
    target.source = context->source;
    target.unit = std::make_shared<const FlatUnit>(std::move(unit));
    target.state = state;
    target.elements = of.elements;
    target.castTo = dtype;
    target.sourceOfFile = context->sourceOfFile;
    target.tensorOf = [tensor](ParamId) { return tensor; };
    return composer.tensor(dtype, of.shape, requiresGrad, flatCursor(std::move(target)));
}

} // namespace shardscope
