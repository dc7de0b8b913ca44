// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/units/unit_states.h"

#include "core/base/finding_codes.h"
#include "core/checkpoint/folder/model_header.h"
#include "core/checkpoint/folder/reading_state.h"
#include "core/checkpoint/model/muon.h"
#include "core/checkpoint/units/elastic_zero3.h"
#include "core/checkpoint/units/odd_states.h"
#include "core/checkpoint/units/other_values.h"
#include "core/checkpoint/units/state_values.h"
#include "core/partition/held_whole.h"

#include <algorithm>
#include <functional>
#include <set>

namespace shardscope {

namespace {

/// "group1", "subgroup7"
std::string unitText(const FlatUnit& unit)
{
    return unit.subgroup ? "subgroup" + std::to_string(*unit.subgroup) : "group" + std::to_string(unit.group);
}

/// Lean states keep at least the part before the padding at the end. Padded ones keep the whole partition.
bool lengthFits(const FlatUnit& unit, uint32_t rank, uint64_t elements, bool mayBeLean)
{
    const uint64_t whole = unit.partition.partitionElements();
    return elements <= whole && elements >= (mayBeLean ? unit.partition.leanElementsOn(rank) : whole);
}

/// Only ZeRO-1/2 remove the padding, and only from masters. The lengths show whether they did.
bool mastersMayBeLean(const FlatUnit& unit)
{
    return unit.partition.rule() == PartitionRule::Contiguous;
}

/// Collects one tensor state over all ranks.
class StateCollector
{
public:
    StateCollector(const Reading& reading, const FlatUnit& unit)
        : m_reading(reading)
        , m_unit(unit)
    {
    }

    /// The share of every rank in states that are kept for whole parameters (core/partition/held_whole.h).
    /// Ranks without a share keep nothing.
    UnitState collectHeldWhole(std::string_view name, const std::vector<RankStates>& perRank)
    {
        UnitState state;
        state.name = name;
        state.lean = true;
        state.heldWhole = true;
        state.perRank.resize(m_unit.partition.ranks());
        bool typed = false;
        for (uint32_t rank = 0; rank < state.perRank.size(); ++rank) {
            const RankStates& source = perRank[rank];
            const HeldWhole held = heldWholeOn(m_unit.partition, rank);
            if (source.file == kNoFile || m_reading.content(source.file) == nullptr)
                continue;
            if (held.own == 0) {
                state.perRank[rank] = {source.file, StoredRun::kNoRecord, 0, 0};
                continue;
            }
            const NodeId node = source.state == kNoNode
                ? kNoNode
                : stateValue(m_reading.content(source.file)->pickle(), source.state, name);
            if (node == kNoNode) {
                complain(code::kStateMissing, rank, "state `" + state.name + "` is missing on this rank",
                    state.name);
                continue;
            }
            DType dtype = DType::Unknown;
            auto run = flatRun(m_reading, source.file, node, dtype);
            if (!run)
                continue;
            if (run->elements != held.elements() || (typed && dtype != state.dtype)) {
                complain(code::kStateLength, rank,
                    "the rank stores " + std::to_string(run->elements)
                        + " elements where the parameters that it has a share of have "
                        + std::to_string(held.elements()) + ", or another dtype than the others",
                    state.name);
                continue;
            }
            state.dtype = dtype;
            typed = true;
            run->byteOffset += held.before * itemSize(dtype);
            run->elements = held.own;
            state.perRank[rank] = *run;
        }
        return state;
    }

    UnitState collect(std::string name, bool mayBeLean, const std::vector<RankStates>& perRank,
        const std::function<NodeId(const RankStates&)>& tensorOf)
    {
        UnitState state;
        state.name = std::move(name);
        state.perRank.resize(m_unit.partition.ranks());
        bool typed = false;
        for (uint32_t rank = 0; rank < state.perRank.size(); ++rank) {
            const RankStates& source = perRank[rank];
            if (source.file == kNoFile || m_reading.content(source.file) == nullptr)
                continue;
            if (const SwappedState* swapped = source.findSwapped(state.name)) {
                state.dtype = swapped->dtype;
                typed = true;
                state.perRank[rank] = swapped->run;
                continue;
            }
            const NodeId node = tensorOf(source);
            if (node == kNoNode) {
                complain(code::kStateMissing, rank, "state `" + state.name + "` is missing on this rank",
                    state.name);
                continue;
            }
            DType dtype = DType::Unknown;
            const auto run = flatRun(m_reading, source.file, node, dtype);
            if (!run)
                continue;
            if (typed && dtype != state.dtype) {
                complain(code::kRankForeign, rank,
                    "the rank stores this state in another dtype than the others", state.name);
                continue;
            }
            state.dtype = dtype;
            typed = true;
            if (!fits(*run, rank, mayBeLean, state.name))
                continue;
            state.lean = state.lean || run->elements < m_unit.partition.partitionElements();
            state.perRank[rank] = *run;
        }
        return state;
    }

private:
    bool fits(const StoredRun& run, uint32_t rank, bool mayBeLean, const std::string& state)
    {
        if (lengthFits(m_unit, rank, run.elements, mayBeLean))
            return true;
        complain(code::kStateLength, rank,
            "the rank stores " + std::to_string(run.elements) + " elements where the layout has "
                + std::to_string(m_unit.partition.partitionElements()),
            state);
        return false;
    }

    void complain(std::string_view finding, uint32_t rank, std::string message, const std::string& state)
    {
        m_reading.add(finding, Severity::Error, std::move(message),
            flatAddressOf(m_reading.out, m_unit, rank, 0, state));
    }

    const Reading& m_reading;
    const FlatUnit& m_unit;
};

/// Whether a state's value is a tensor that may follow the partition. Scalars (`step`) are 0-dim tensors or
/// plain numbers. In older torch a 1-D `step` of one element is a scalar, too.
bool isFlatState(const PickleGraph& graph, std::string_view name, NodeId value)
{
    if (!looksLikeTensor(graph, value) || isTensorSubclass(graph, value))
        return false;
    const auto tensor = asTensor(graph, value);
    if (!tensor)
        return true; // flatRun() reports what is wrong with it
    if (tensor->sizes.empty())
        return false;
    return !(name == "step" && tensor->sizes == Shape{1});
}

bool isOneElement(const PickleGraph& graph, NodeId value)
{
    const auto tensor = asTensor(graph, value);
    return tensor && tensor->elements() == 1;
}

/// Whether the state has a partition's length on any rank. If on none, the optimizer uses another layout. A
/// single rank that differs is damage, which is reported when the state is collected.
bool followsPartition(const Reading& reading, const FlatUnit& unit, const std::vector<RankStates>& perRank,
    std::string_view name)
{
    bool seen = false;
    for (const RankStates& source : perRank) {
        if (source.state == kNoNode || reading.content(source.file) == nullptr)
            continue;
        if (source.findSwapped(name) != nullptr)
            return true;
        const PickleGraph& graph = reading.content(source.file)->pickle();
        const auto tensor = asTensor(graph, stateValue(graph, source.state, name));
        if (!tensor)
            continue;
        const auto rank = static_cast<uint32_t>(&source - perRank.data());
        if (tensor->sizes.size() == 1 && lengthFits(unit, rank, tensor->sizes[0], source.lean))
            return true;
        seen = true;
    }
    return !seen;
}

bool offloadsOptimizer(const Reading& reading)
{
    const ModelStates model = modelStates(reading);
    const NodeId device = model.configValue({"zero_optimization", "offload_optimizer", "device"});
    return device != kNoNode && saysOffload(*model.graph, device);
}

/// Whether ranks keep the state for whole parameters, as ZeRO-1/2 do with the momentum of Muon. If both
/// lengths are the same on all ranks, the configuration decides.
bool isHeldWhole(const Reading& reading, const FlatUnit& unit, const std::vector<RankStates>& perRank,
    std::string_view name)
{
    if (name != kMuonMomentum || !isZero12(reading.out.kind) || unit.group < 0
        || !isMuonGroup(reading.out, reading.out.groups[static_cast<size_t>(unit.group)]))
        return false;
    bool differs = false;
    for (uint32_t rank = 0; rank < perRank.size(); ++rank) {
        const HeldWhole held = heldWholeOn(unit.partition, rank);
        const RankStates& source = perRank[rank];
        if (held.own == 0 || source.state == kNoNode || reading.content(source.file) == nullptr)
            continue;
        const PickleGraph& graph = reading.content(source.file)->pickle();
        const auto tensor = asTensor(graph, lookup(graph, source.state, name));
        if (!tensor || tensor->sizes.size() != 1)
            continue;
        if (held.own != unit.partition.leanElementsOn(rank) || tensor->sizes[0] != held.elements())
            return false; // padding between parameters: they are not back to back
        differs = differs || held.elements() != unit.partition.partitionElements();
    }
    return differs || !offloadsOptimizer(reading);
}

} // namespace

void setStepForm(const PickleGraph& graph, NodeId value, FlatUnit& unit)
{
    if (looksLikeTensor(graph, value)) {
        unit.stepForm = StepForm::Tensor;
        if (const auto tensor = asTensor(graph, value))
            unit.stepType = tensor->dtype;
    } else if (asInteger(graph, value)) {
        unit.stepForm = StepForm::Integer;
    } else if (asNumber(graph, value)) {
        unit.stepForm = StepForm::Real;
    }
}

std::optional<double> scalarOf(const Reading& reading, FileId file, NodeId value)
{
    const TorchFile* content = reading.content(file);
    if (const auto number = asNumber(content->pickle(), value))
        return number;
    const auto tensor = asTensor(content->pickle(), value);
    if (!tensor || tensor->elements() != 1)
        return std::nullopt;
    const auto extent = content->extentOf(*tensor);
    if (!extent)
        return std::nullopt;
    const auto bytes = readScalar(reading, *content, *extent);
    return bytes.empty() ? std::nullopt : std::optional(elementAsDouble(tensor->dtype, bytes.data()));
}

std::vector<uint8_t> readScalar(const Reading& reading, const TorchFile& content, const TensorExtent& extent)
{
    const auto kept = content.smallRecord(extent.record);
    if (extent.recordOffset + extent.bytes <= kept.size()) {
        const auto element = kept.subspan(extent.recordOffset, extent.bytes);
        return {element.begin(), element.end()};
    }
    std::vector<uint8_t> out(extent.bytes);
    const auto file = reading.files.openRead(content.path());
    const Status read = file ? (*file)->readAt(extent.byteOffset, out) : Status(forward(file.error()));
    if (read)
        return out;
    if (reading.hasNoValues())
        return {};
    reading.add(code::kFileUnreadable, Severity::Error,
        "a number that the file keeps as a tensor cannot be read", content.path().filename().string(),
        {describe(read.error())});
    return {};
}

std::optional<StoredRun> flatRun(const Reading& reading, FileId file, NodeId node, DType& dtype)
{
    const CheckpointFile& entry = reading.out.file(file);
    const auto tensor = asTensor(entry.content->pickle(), node);
    const auto complain = [&](const std::string& why) {
        reading.add(code::kTensorInvalid, Severity::Error, "a state tensor of this file cannot be used",
            entry.name, {why});
        return std::nullopt;
    };
    if (!tensor)
        return complain(describe(tensor.error()));
    if (tensor->sizes.size() != 1 || !tensor->isContiguous())
        return complain("it is not a flat tensor: its shape is " + shapeText(tensor->sizes));
    const auto extent = entry.content->extentOf(*tensor);
    if (!extent)
        return complain(describe(extent.error()));
    dtype = tensor->dtype;
    return StoredRun{file, extent->record, extent->byteOffset, tensor->sizes[0]};
}

GroupEntry readParamGroup(const PickleGraph& graph, NodeId options)
{
    GroupEntry out{options, {}};
    for (const NodeId key : sequenceItems(graph, lookup(graph, options, "params"))) {
        if (const auto number = asInteger(graph, key))
            out.stateKeys.push_back(*number);
    }
    return out;
}

std::vector<GroupEntry> readParamGroups(const PickleGraph& graph, NodeId torchState)
{
    std::vector<GroupEntry> out;
    for (const NodeId options : sequenceItems(graph, lookup(graph, torchState, "param_groups")))
        out.push_back(readParamGroup(graph, options));
    return out;
}

bool masterFits(const Reading& reading, const FlatUnit& unit, uint32_t rank, const RankStates& source)
{
    if (source.master == kNoNode || reading.content(source.file) == nullptr)
        return false;
    const auto master = asTensor(reading.content(source.file)->pickle(), source.master);
    return master && master->sizes.size() == 1
        && lengthFits(unit, rank, master->sizes[0], mastersMayBeLean(unit));
}

Status requireShapesFit(const Reading& reading, const FlatUnit& unit, const std::vector<RankStates>& perRank)
{
    Status out;
    for (uint32_t rank = 0; rank < perRank.size(); ++rank) {
        const RankStates& source = perRank[rank];
        if (source.master == kNoNode || source.swapped != nullptr || reading.content(source.file) == nullptr)
            continue;
        const auto master = asTensor(reading.content(source.file)->pickle(), source.master);
        if (!master || master->sizes.size() != 1)
            continue;
        if (lengthFits(unit, rank, master->sizes[0], mastersMayBeLean(unit)))
            return {};
        if (out)
            out = fail(ErrorCode::Damaged,
                "the shapes of the model file do not fit what the optimizer files hold: they make "
                    + std::to_string(unit.partition.partitionElements()) + " elements of "
                    + formatAddress(flatAddressOf(reading.out, unit, rank, 0, {})) + ", and "
                    + std::to_string(master->sizes[0]) + " are stored",
                reading.out.file(source.file).path.string(),
                "model file and optimizer files may come from different runs");
    }
    return out;
}

FileId guideOf(const Reading& reading)
{
    const auto isUsable = [&](FileId file) {
        return reading.content(file) != nullptr && reading.out.file(file).status != FileStatus::Foreign;
    };
    const auto& all = reading.out.optimFiles;
    if (reading.out.templateOptim != kNoFile && isUsable(reading.out.templateOptim))
        return reading.out.templateOptim;
    const auto first = std::find_if(all.begin(), all.end(), isUsable);
    return first == all.end() ? kNoFile : *first;
}

namespace {

std::optional<double> stepIn(const Reading& reading, const RankStates& source)
{
    const NodeId step = lookup(reading.content(source.file)->pickle(), source.state, "step");
    return step == kNoNode ? std::nullopt : scalarOf(reading, source.file, step);
}

bool recordsStates(const Reading& reading, const RankStates& source)
{
    return source.state != kNoNode && reading.content(source.file) != nullptr;
}

/// The rank whose states are listed: the template's, or else the first one that has any. Null if none has.
const RankStates* guideOf(const Reading& reading, const std::vector<RankStates>& perRank)
{
    const auto records = [&](const RankStates& source) { return recordsStates(reading, source); };
    auto guide = std::find_if(perRank.begin(), perRank.end(), [&](const RankStates& source) {
        return source.file == reading.out.templateOptim && records(source);
    });
    if (guide == perRank.end())
        guide = std::find_if(perRank.begin(), perRank.end(), records);
    return guide == perRank.end() ? nullptr : &*guide;
}

void setStep(const Reading& reading, FlatUnit& unit, const std::vector<RankStates>& perRank,
    const RankStates& guide, NodeId step)
{
    unit.step = scalarOf(reading, guide.file, step);
    for (auto other = perRank.begin(); !unit.step && other != perRank.end(); ++other)
        unit.step = recordsStates(reading, *other) ? stepIn(reading, *other)
                                                   : std::nullopt; // the guide may be torn
    setStepForm(reading.content(guide.file)->pickle(), step, unit);
}

/// The ranks' entries of one unit.
struct Entries {
    const std::vector<RankStates>& perRank;
    const RankStates& guide;
    StateCollector& collector;
};

/// Adds a value of the guide's entry to the unit's states, or checks it if it is none.
void addState(const Reading& reading, FlatUnit& unit, const Entries& entries, const StateValue& value)
{
    const PickleGraph& graph = reading.content(entries.guide.file)->pickle();
    const std::vector<RankStates>& perRank = entries.perRank;
    if (keepsSlices(reading, unit, perRank, value.name)) {
        unit.states.push_back(collectSlices(reading, unit, perRank, value.name));
        return;
    }
    if (!isFlatState(graph, value.name, value.node)) {
        if (value.name == "step")
            setStep(reading, unit, perRank, entries.guide, value.node);
        if (value.name != "step" || !(unit.step || looksLikeTensor(graph, value.node)))
            checkOtherValue(reading, unit, perRank, entries.guide, value.name);
        return;
    }
    if (isHeldWhole(reading, unit, perRank, value.name)) {
        unit.states.push_back(entries.collector.collectHeldWhole(value.name, perRank));
        return;
    }
    if (!followsPartition(reading, unit, perRank, value.name)) {
        if (isOneElement(graph, value.node))
            return checkOtherValue(reading, unit, perRank, entries.guide, value.name);
        const auto tensor = asTensor(graph, value.node);
        return setStateAside(reading, value.name,
            "of " + unitText(unit) + " has the shape "
                + (tensor ? shapeText(tensor->sizes) : std::string("?")) + " on a rank whose partition has "
                + std::to_string(unit.partition.partitionElements()) + " elements");
    }
    unit.states.push_back(
        entries.collector.collect(value.name, entries.guide.lean, perRank, [&](const RankStates& source) {
            return source.state == kNoNode
                ? kNoNode
                : stateValue(reading.content(source.file)->pickle(), source.state, value.name);
        }));
}

} // namespace

void fillUnitStates(const Reading& reading, FlatUnit& unit, const std::vector<RankStates>& perRank)
{
    StateCollector collector(reading, unit);
    unit.states.push_back(collector.collect(
        "fp32", mastersMayBeLean(unit), perRank, [](const RankStates& source) { return source.master; }));
    const RankStates* const guide = guideOf(reading, perRank);
    if (guide == nullptr) {
        if (reading.out.supported && reading.content(perRank.front().file) != nullptr)
            reading.add(code::kStateMissing, Severity::Info,
                "there is no optimizer state yet: the checkpoint was saved before the first step",
                flatAddressOf(reading.out, unit, 0, 0, {}));
        return;
    }
    const PickleGraph& graph = reading.content(guide->file)->pickle();
    if (guide->file == reading.out.templateOptim)
        unit.stateNode = guide->state;
    std::set<std::string> names;
    for (const StateValue& value : stateValues(graph, guide->state)) {
        if (!names.insert(value.name).second) {
            setStateAside(
                reading, value.name, "of " + unitText(unit) + " is there twice", "its names are not unique");
            continue;
        }
        addState(reading, unit, {perRank, *guide, collector}, value);
    }
    checkFurtherValues(reading, unit, perRank, names);
}

} // namespace shardscope
