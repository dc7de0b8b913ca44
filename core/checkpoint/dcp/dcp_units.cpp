// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/dcp/dcp_units.h"

#include "core/base/finding_codes.h"
#include "core/base/text.h"
#include "core/torchfile/pickle/pickle_values.h"

#include <algorithm>
#include <limits>
#include <set>

namespace shardscope {

namespace {

/// A tensor's parts in the order of its elements, and how it is partitioned.
struct Partitioned {
    std::vector<const DcpChunk*> chunks;
    FlatPartition partition;
};

/// torch.chunk: all ranks have the same number of rows, but the last ones may have fewer or none. Nothing if
/// the tensor is partitioned in another way.
std::optional<Partitioned> partitionedByRows(const DcpEntry& entry)
{
    const uint64_t elements = elementCount(entry.shape).value_or(0);
    Partitioned out;
    for (const DcpChunk& chunk : entry.chunks)
        out.chunks.push_back(&chunk);
    std::sort(out.chunks.begin(), out.chunks.end(),
        [](const DcpChunk* a, const DcpChunk* b) { return a->offsets < b->offsets; });
    uint64_t rows = 0;
    uint64_t at = 0;
    for (const DcpChunk* chunk : out.chunks) {
        for (size_t i = 1; i < entry.shape.size(); ++i) {
            if (chunk->offsets[i] != 0 || chunk->sizes[i] != entry.shape[i])
                return std::nullopt;
        }
        if (entry.shape.empty())
            break;
        rows = std::max(rows, chunk->sizes[0]);
        if (chunk->offsets[0] != at && chunk->sizes[0] > 0)
            return std::nullopt;
        if (at % std::max<uint64_t>(rows, 1) != 0 && chunk->sizes[0] > 0)
            return std::nullopt;
        at += chunk->sizes[0];
    }
    const uint64_t rowElements = entry.shape.empty() || entry.shape[0] == 0 ? 1 : elements / entry.shape[0];
    const uint64_t share = out.chunks.size() > 1 ? rows * rowElements : 1;
    if (out.chunks.empty() || share > std::numeric_limits<uint32_t>::max() || (elements > 0 && share == 0))
        return std::nullopt;
    auto partition = FlatPartition::contiguous({elements}, static_cast<uint32_t>(out.chunks.size()),
        static_cast<uint32_t>(std::max<uint64_t>(share, 1)));
    if (!partition)
        return std::nullopt;
    out.partition = std::move(*partition);
    return out;
}

bool isAlike(const FlatPartition& a, const FlatPartition& b)
{
    return a.ranks() == b.ranks() && a.partitionElements() == b.partitionElements();
}

/// The partition that all tensors of a parameter share. Nothing if they differ or are stored in other boxes.
std::optional<FlatPartition> commonPartition(const DcpHeld& held)
{
    const auto parts = partitionedByRows(*held.weight);
    if (!parts)
        return std::nullopt;
    for (const auto& [name, entry] : held.states) {
        const auto other = partitionedByRows(*entry);
        if (!other || !isAlike(parts->partition, other->partition))
            return std::nullopt;
    }
    return parts->partition;
}

} // namespace

DcpUnits::DcpUnits(DcpArchives& archives, Checkpoint& out,
    const std::vector<std::vector<std::string>>& members,
    const std::vector<std::optional<DcpStepForm>>& steps)
    : m_archives(archives)
    , m_out(out)
    , m_members(members)
    , m_steps(steps)
{
}

Status DcpUnits::add(const std::vector<DcpHeld>& held, JobContext& job)
{
    arrange(held);
    for (const ParamId id : m_order) {
        SHARDSCOPE_CHECK(job.poll());
        SHARDSCOPE_CHECK(addOne(id, held[index(id)]));
    }
    return finish();
}

/// A parameter that no group lists comes after the groups. It belongs to the first group if it has states.
void DcpUnits::arrange(const std::vector<DcpHeld>& held)
{
    for (uint32_t group = 0; group < m_members.size(); ++group) {
        for (const std::string& name : m_members[group]) {
            const auto listed = m_out.findParam(name);
            if (!listed || m_out.params[index(*listed)].role == ParamRole::Buffer)
                continue;
            const ParamId owner = m_out.params[index(*listed)].sharedWith;
            const ParamId param = owner == kNoParam ? *listed : owner;
            if (m_groupOf.emplace(param, static_cast<int32_t>(group)).second)
                m_order.push_back(param);
        }
    }
    const size_t listed = m_order.size();
    const std::set<ParamId> known(m_order.begin(), m_order.end());
    for (uint32_t i = 0; i < m_out.params.size(); ++i) {
        const bool own = m_out.params[i].sharedWith == kNoParam;
        if (!own || known.contains(ParamId{i}))
            continue;
        if (!held[i].states.empty())
            m_groupOf.emplace(ParamId{i}, 0);
        m_order.push_back(ParamId{i});
    }
    std::stable_partition(m_order.begin() + static_cast<ptrdiff_t>(listed), m_order.end(),
        [&](ParamId id) { return m_groupOf.contains(id); });
}

Status DcpUnits::addOne(ParamId id, const DcpHeld& held)
{
    const auto group = m_groupOf.find(id);
    if (group != m_groupOf.end()) {
        m_out.params[index(id)].role = ParamRole::Trainable;
        m_out.params[index(id)].group = group->second;
    } else if (held.weight->chunks.size() == 1) {
        SHARDSCOPE_TRY(
            const DcpStored stored, m_archives.storedOf(*held.weight, held.weight->chunks.front()));
        if (stored.isPlain()) {
            WholeTensor whole;
            whole.param = id;
            whole.dtype = held.weight->dtype;
            whole.run = stored.runs.front();
            m_out.whole.push_back(std::move(whole));
            return {};
        }
    }
    return addUnit(id, held);
}

Status DcpUnits::addUnit(ParamId id, const DcpHeld& held)
{
    const Parameter& param = m_out.params[index(id)];
    FlatUnit unit;
    unit.kind = UnitKind::Whole;
    unit.group = param.group;
    unit.params = {id};
    // An optimizer resumes from the master, so the dtype of training is the master's.
    const bool master = unit.group >= 0 && held.weight->dtype == DType::Float32;
    std::vector<ReadState> states;
    SHARDSCOPE_TRY(states.emplace_back(), readState(master ? "fp32" : "weight", *held.weight));
    for (const auto& [name, entry] : held.states) {
        SHARDSCOPE_TRY(states.emplace_back(), readState(name, *entry));
    }
    auto whole = FlatPartition::contiguous({param.elements}, 1, 1);
    if (!whole)
        return forward(whole.error());
    const bool plain = std::ranges::all_of(states, [](const ReadState& state) { return state.isPlain(); });
    unit.partition = plain ? commonPartition(held).value_or(*whole) : *whole;
    for (ReadState& state : states)
        m_anyLost = !addState(unit, std::move(state)) || m_anyLost;
    SHARDSCOPE_TRY(const Step step, stepOf(held));
    unit.step = step.value;
    unit.stepForm = step.form.form;
    unit.stepType = step.form.type;
    m_out.parallel.dp = std::max(m_out.parallel.dp, unit.partition.ranks());
    take(id, std::move(unit));
    return {};
}

Result<DcpUnits::ReadState> DcpUnits::readState(std::string name, const DcpEntry& entry)
{
    ReadState out{std::move(name), &entry, {}};
    for (const DcpChunk& chunk : entry.chunks) {
        SHARDSCOPE_TRY(out.chunks.emplace_back(), m_archives.storedOf(entry, chunk));
    }
    return out;
}

bool DcpUnits::ReadState::isPlain() const
{
    return std::ranges::all_of(chunks, [](const DcpStored& stored) { return stored.isPlain(); });
}

/// Whether all of it is stored.
bool DcpUnits::addState(FlatUnit& unit, ReadState read)
{
    const DcpEntry& entry = *read.entry;
    UnitState state;
    state.name = std::move(read.name);
    state.dtype = entry.dtype;
    bool all = true;
    if (unit.partition.ranks() > 1) {
        const auto parts = partitionedByRows(entry); // the same as the unit's
        for (const DcpChunk* chunk : parts->chunks) {
            const StoredRun& run = read.chunks[static_cast<size_t>(chunk - entry.chunks.data())].runs.front();
            all = all && run.isPresent();
            state.perRank.push_back(run);
        }
        unit.states.push_back(std::move(state));
        return all;
    }
    std::vector<Box> boxes;
    std::vector<StoredRun> runs;
    for (DcpStored& chunk : read.chunks) {
        for (size_t i = 0; i < chunk.runs.size(); ++i) {
            all = all && (chunk.runs[i].isPresent() || elementCount(chunk.boxes[i].sizes) == uint64_t{0});
            boxes.push_back(std::move(chunk.boxes[i]));
            runs.push_back(chunk.runs[i]);
        }
    }
    const bool whole = runs.size() == 1;
    state.perRank = {all ? StoredRun{m_out.templateOptim, StoredRun::kNoRecord, 0,
                         whole ? 0 : unit.partition.payloadElements()}
                         : StoredRun{}};
    if (whole)
        state.elements = std::make_shared<TensorMap>(std::move(runs));
    else
        state.elements = std::make_shared<BoxMap>(entry.shape, std::move(boxes), std::move(runs));
    unit.states.push_back(std::move(state));
    return all;
}

/// The step next to the parameter's states, else the one in its group's options. Its form is the recorded
/// one, if there is a record.
Result<DcpUnits::Step> DcpUnits::stepOf(const DcpHeld& held)
{
    Step out;
    if (held.step != nullptr) {
        const DcpPlace& place = held.step->isTensor ? held.step->chunks.front().place : held.step->place;
        const auto [known, isNew]
            = m_knownSteps.try_emplace({m_archives.fileOf(place.file), place.offset}, Step());
        if (isNew) {
            SHARDSCOPE_TRY(known->second, readStep(*held.step));
        }
        out = known->second;
    }
    return out;
}

Result<DcpUnits::Step> DcpUnits::readStep(const DcpEntry& entry)
{
    Step out;
    if (entry.isTensor) {
        SHARDSCOPE_TRY(const DcpStored stored, m_archives.storedOf(entry, entry.chunks.front()));
        const StoredRun& run = stored.runs.front();
        if (!run.isPresent() || run.elements != 1)
            return out;
        SHARDSCOPE_TRY(out.value, m_archives.element(run, entry.dtype));
        out.form = {StepForm::Tensor, entry.dtype};
        return out;
    }
    const auto archive = m_archives.open(entry.place);
    if (!archive)
        return archive.error().code == ErrorCode::Cancelled ? Result<Step>(forward(archive.error())) : out;
    const PickleGraph& graph = (*archive)->pickle();
    out.value = asNumber(graph, graph.root());
    if (out.value)
        out.form.form = asInteger(graph, graph.root()) ? StepForm::Integer : StepForm::Real;
    return out;
}

/// Whether the unit can be appended to the last one: both are whole, in the same group, with the same states
/// and step.
bool DcpUnits::continuesLast(const FlatUnit& unit) const
{
    if (m_out.units.empty() || unit.group < 0)
        return false;
    const FlatUnit& last = m_out.units.back();
    bool same = last.group == unit.group && last.step == unit.step && last.stepForm == unit.stepForm
        && last.stepType == unit.stepType && last.states.size() == unit.states.size();
    for (size_t s = 0; same && s < unit.states.size(); ++s)
        same = m_growing.size() == unit.states.size() && !unit.states[s].map().tensors().empty()
            && last.states[s].name == unit.states[s].name && last.states[s].dtype == unit.states[s].dtype;
    return same;
}

void DcpUnits::take(ParamId id, FlatUnit unit)
{
    if (continuesLast(unit)) {
        FlatUnit& last = m_out.units.back();
        for (size_t s = 0; s < unit.states.size(); ++s) {
            m_growing[s]->append(unit.states[s].map().tensors().front());
            if (unit.states[s].perRank.front().isPresent())
                last.states[s].perRank = unit.states[s].perRank;
        }
        last.params.push_back(id);
    } else {
        m_growing.clear();
        for (UnitState& state : unit.states) {
            const ElementMap::Shares tensors = state.map().tensors();
            if (tensors.empty())
                break;
            m_growing.push_back(std::make_shared<TensorMap>(std::vector(tensors.begin(), tensors.end())));
            state.elements = m_growing.back();
        }
        m_out.units.push_back(std::move(unit));
    }
    Parameter& param = m_out.params[index(id)];
    param.unit = UnitId{static_cast<uint32_t>(m_out.units.size() - 1)};
    param.indexInUnit = static_cast<uint32_t>(m_out.units.back().params.size() - 1);
}

Status DcpUnits::finish()
{
    size_t groups = m_members.size();
    for (const FlatUnit& unit : m_out.units)
        groups = std::max(groups, static_cast<size_t>(unit.group + 1));
    m_out.groups.resize(groups);
    for (uint32_t g = 0; g < m_out.groups.size(); ++g)
        m_out.groups[g].index = g;
    for (uint32_t u = 0; u < m_out.units.size(); ++u) {
        FlatUnit& unit = m_out.units[u];
        if (unit.params.size() > 1) {
            std::vector<uint64_t> elements;
            for (const ParamId param : unit.params)
                elements.push_back(m_out.params[index(param)].elements);
            auto partition = FlatPartition::contiguous(std::move(elements), 1, 1);
            if (!partition)
                return forward(partition.error());
            unit.partition = std::move(*partition);
        }
        if (unit.group < 0)
            continue;
        ParamGroup& group = m_out.groups[static_cast<size_t>(unit.group)];
        group.units.push_back(UnitId{u});
        group.parameters += unit.params.size();
        group.elements += unit.partition.payloadElements();
        if (static_cast<size_t>(unit.group) < m_steps.size() && m_steps[static_cast<size_t>(unit.group)]) {
            const DcpStepForm& recorded = *m_steps[static_cast<size_t>(unit.group)];
            unit.stepForm = recorded.form;
            unit.stepType = recorded.type;
        }
    }
    std::sort(m_out.whole.begin(), m_out.whole.end(),
        [](const WholeTensor& a, const WholeTensor& b) { return a.param < b.param; });
    for (Parameter& param : m_out.params) { // aliases get their owner's values
        if (param.sharedWith == kNoParam)
            continue;
        param.role = m_out.params[index(param.sharedWith)].role;
        param.group = m_out.params[index(param.sharedWith)].group;
    }
    return {};
}

} // namespace shardscope
