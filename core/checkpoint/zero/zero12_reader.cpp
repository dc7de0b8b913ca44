// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/zero/zero12_reader.h"

#include "core/base/finding_codes.h"
#include "core/base/text.h"
#include "core/checkpoint/folder/model_header.h"
#include "core/checkpoint/folder/reading_state.h"
#include "core/checkpoint/model/fused_experts.h"
#include "core/checkpoint/model/muon.h"
#include "core/checkpoint/model/optim_states.h"
#include "core/checkpoint/model/zero_paddings.h"
#include "core/checkpoint/units/expert_families.h"
#include "core/checkpoint/units/module_reader.h"
#include "core/checkpoint/units/odd_states.h"
#include "core/checkpoint/units/old_shapes.h"
#include "core/checkpoint/units/other_values.h"
#include "core/checkpoint/units/unit_states.h"
#include "core/checkpoint/zero/round_robin.h"
#include "core/checkpoint/zero/zenflow.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <string_view>
#include <tuple>

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

/// ZeRO-1/2: whether parameters start on their own boundaries (parameter_alignment). Also determines the
/// alignment of each group's parameters, in elements.
bool isParameterAligned(const Reading& reading, FileId optimFile)
{
    const PickleGraph& graph = reading.content(optimFile)->pickle();
    const auto recorded = RecordedPaddings::of(graph);
    if (hasBf16Optimizer(reading.out.kind) || !recorded || recorded->isEmpty())
        return false; // 0.19.8 introduced this layout together with the key
    if (!recorded->isAllZero())
        return true;
    return modelStates(reading).configFlag({"zero_optimization", "parameter_alignment"});
}

uint32_t parameterAlignmentOf(const Reading& reading, std::string_view firstParam)
{
    return kBoundary / std::gcd(kBoundary, itemSize(modelTypeOf(reading, firstParam)));
}

/// Compares the paddings in every optimizer file with those of the units. A file with others is
/// Foreign. Damaged if none has them.
Status checkAlignmentPaddings(Reading& reading)
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
        return {}; // every file has the same wrong number of zeros: the masters' lengths decide
    if (!misfits.empty() && !someFit)
        return fail(ErrorCode::Damaged,
            "the optimizer file records padding between its parameters that parameter_alignment does not "
            "give with the shapes of the model file",
            out.file(misfits.front()).path.string(),
            "model file and optimizer files may come from different runs");
    for (const FileId file : misfits) {
        out.files[index(file)].status = FileStatus::Foreign;
        reading.add(code::kRankForeign, Severity::Error,
            "the file records other padding between its parameters than the other ranks' files",
            out.file(file).name);
    }
    return {};
}

/// Reads the files of DeepSpeedZeroOptimizer (runtime/zero/stage_1_and_2.py) and BF16_Optimizer
/// (runtime/bf16_optimizer.py).
class Zero12Reader
{
public:
    explicit Zero12Reader(Reading& reading)
        : m_reading(reading)
        , m_out(reading.out)
        , m_fused(FusedExperts::of(reading.out))
    {
    }

    Status run()
    {
        reserveParameters(m_reading);
        SHARDSCOPE_TRY(const ShapeLists shapes, findParamShapes(m_reading));
        m_guide = guideOf(m_reading);
        if (m_guide == kNoFile)
            return fail(ErrorCode::Damaged, "no optimizer file of this checkpoint can be read",
                m_out.tagFolder.string());
        SHARDSCOPE_CHECK(checkForm(shapes));
        const Status units = readUnits(shapes);
        m_reading.stop(units);
        readModule(m_reading, true); // is shown also without units
        SHARDSCOPE_CHECK(units);
        SHARDSCOPE_TRY(const bool mappingsShowIt, checkSliceMappings(m_reading));
        decideRoundRobin(m_reading, mappingsShowIt);
        fillStates();
        SHARDSCOPE_CHECK(decideZenFlow(m_reading));
        return m_fused.isEmpty() ? Status() : describeFused();
    }

private:
    [[nodiscard]] NodeId wrapper(FileId file) const
    {
        const PickleGraph& graph = m_reading.content(file)->pickle();
        return wrapperOf(graph);
    }

    /// Whether the file has a list with one mapping per group instead of torch's dict (stage_1_and_2.py,
    /// _get_base_optimizer_state).
    [[nodiscard]] bool isElastic(FileId file) const
    {
        const PickleGraph& graph = m_reading.content(file)->pickle();
        const NodeId base = lookup(graph, wrapper(file), "base_optimizer_state");
        return base != kNoNode && graph.kind(base) == NodeKind::List;
    }

    Status readUnits(const ShapeLists& shapes)
    {
        SHARDSCOPE_CHECK(addUnits(shapes));
        for (const FlatUnit& unit : m_out.units)
            SHARDSCOPE_CHECK(requireShapesFit(m_reading, unit, sourcesOf(unit)));
        return checkAlignmentPaddings(m_reading);
    }

    Status checkForm(const std::vector<std::vector<NamedShape>>& shapes)
    {
        const PickleGraph& graph = m_reading.content(m_guide)->pickle();
        const NodeId node = wrapper(m_guide);
        m_base = lookup(graph, node, "base_optimizer_state");
        m_elastic = isElastic(m_guide);
        const auto masters = sequenceItems(graph, lookup(graph, node, "single_partition_of_fp32_groups"));
        m_groups = m_elastic ? std::vector<GroupEntry>(sequenceItems(graph, m_base).size())
                             : readParamGroups(graph, m_base);
        if (m_elastic)
            m_out.evidence.emplace_back("`base_optimizer_state` is a list (elastic_checkpoint): it holds no "
                                        "options of the param groups");
        if (masters.size() != shapes.size() || m_groups.size() != shapes.size())
            return fail(ErrorCode::Damaged,
                "model file and optimizer files disagree about the number of param groups",
                m_out.tagFolder.string(), "the files may come from different runs");
        return {};
    }

    Status addUnits(const std::vector<std::vector<NamedShape>>& shapes)
    {
        SHARDSCOPE_CHECK(listsAllFused(shapes));
        SHARDSCOPE_TRY(const auto families, expertFamilies(m_reading, m_guide, shapes, m_fused));
        const bool aligned = isParameterAligned(m_reading, m_guide);
        for (uint32_t g = 0; g < shapes.size(); ++g) {
            ParamGroup group;
            group.index = g;
            if (m_guide == m_out.templateOptim)
                group.options = m_groups[g].options;
            m_out.groups.push_back(std::move(group));
            const uint32_t alignment
                = aligned && !shapes[g].empty() ? parameterAlignmentOf(m_reading, shapes[g].front().name) : 1;
            const uint32_t count = families[g].count;
            m_out.parallel.ep = std::max({m_out.parallel.ep, count, m_fused.ranks()});
            for (uint32_t family = 0; family < count; ++family)
                SHARDSCOPE_CHECK(addUnit(shapes[g], g, families[g], family, alignment));
        }
        return {};
    }

    /// Adds one unit per param group. A group of experts gets one per expert-parallel rank.
    Status addUnit(const std::vector<NamedShape>& shapes, uint32_t g, const ExpertFamilies& families,
        uint32_t family, uint32_t alignment)
    {
        FlatUnit unit;
        unit.kind = UnitKind::Group;
        unit.group = static_cast<int32_t>(g);
        unit.firstRank = families.firstRank(family);
        unit.rankStride = families.rankStride;
        const UnitId unitId{static_cast<uint32_t>(m_out.units.size())};
        std::vector<uint64_t> elements;
        const auto add = [&](std::string name, Shape shape) {
            return placeInNextUnit(m_reading, std::move(name), std::move(shape), unit, elements);
        };
        for (const NamedShape& entry : shapes) {
            const FusedLayer* layer = m_fused.layerOf(entry.name);
            if (layer == nullptr) {
                SHARDSCOPE_CHECK(add(families.globalName(entry.name, family), entry.shape));
                continue;
            }
            SHARDSCOPE_CHECK(checkFused(entry, *layer, families.count, alignment));
            for (uint32_t i = 0; i < layer->localExperts; ++i)
                SHARDSCOPE_CHECK(add(std::string(entry.name) + "."
                        + std::to_string(m_fused.rankOf(family) * layer->localExperts + i),
                    Shape(entry.shape.begin() + 1, entry.shape.end())));
        }
        const auto place = [&](uint32_t factor) -> Status {
            SHARDSCOPE_TRY(unit.partition,
                FlatPartition::contiguous(elements, families.ranksPerFamily, factor, alignment));
            return {};
        };
        SHARDSCOPE_CHECK(place(2));
        if (const size_t fitting = countFitting(unit); fitting < unit.partition.ranks()) {
            // Before 0.5.2 partitions were only aligned to the number of ranks.
            if (const Status placed = place(1); placed && countFitting(unit) <= fitting)
                std::ignore = place(2);
        }
        ParamGroup& group = m_out.groups[g];
        group.units.push_back(unitId);
        group.parameters += unit.params.size();
        group.elements += unit.partition.payloadElements();
        m_out.units.push_back(std::move(unit));
        return {};
    }

    /// Whether the groups have all of AutoEP's tensors. These distinguish expert names from others.
    Status listsAllFused(const std::vector<std::vector<NamedShape>>& shapes) const
    {
        size_t fused = 0;
        for (const auto& group : shapes)
            fused += static_cast<size_t>(std::count_if(group.begin(), group.end(),
                [&](const NamedShape& entry) { return m_fused.layerOf(entry.name) != nullptr; }));
        if (fused != m_fused.tensors())
            return fail(ErrorCode::Damaged,
                "`ds_autoep_layers` lists " + std::to_string(m_fused.tensors())
                    + " tensors of experts, and `param_shapes` has " + std::to_string(fused) + " of them",
                m_out.tagFolder.string(), "the model file is not what DeepSpeed wrote");
        return {};
    }

    /// Whether a fused tensor matches its layer's record.
    Status checkFused(
        const NamedShape& entry, const FusedLayer& layer, uint32_t families, uint32_t alignment) const
    {
        const std::string name = "`" + toValidUtf8(entry.name) + "`";
        if (entry.shape.size() < 2 || entry.shape.front() != layer.localExperts
            || families != m_fused.families())
            return fail(ErrorCode::Damaged,
                "`param_shapes`, `partition_count` and `ds_autoep_layers` disagree about the experts in "
                    + name,
                m_out.tagFolder.string(), "model file and optimizer files may come from different runs");
        const uint64_t experts = elementCount(entry.shape).value_or(0) / layer.localExperts;
        if (experts % alignment != 0)
            return fail(ErrorCode::Unsupported,
                "parameter_alignment pads behind the tensor of AutoEP's experts " + name
                    + ", and its single experts do not end on such boundaries");
        return {};
    }

    Status describeFused()
    {
        if (muonMomentumOf(m_out) != nullptr)
            return fail(ErrorCode::Unsupported,
                "Muon's momentum is kept for whole parameters, and AutoEP's have the "
                "experts of a layer in one");
        m_out.evidence.emplace_back(
            "`ds_autoep_layers`: AutoEP keeps a rank's experts of a layer in one tensor; they are shown one "
            "by one, under the names of the experts' files");
        if (std::string fold = m_fused.foldText(); !fold.empty())
            m_out.evidence.push_back(std::move(fold));
        return {};
    }

    /// Number of ranks with masters of a length that fits the unit's partition.
    [[nodiscard]] size_t countFitting(const FlatUnit& unit) const
    {
        const auto sources = sourcesOf(unit);
        size_t fitting = 0;
        for (uint32_t rank = 0; rank < sources.size(); ++rank)
            fitting += masterFits(m_reading, unit, rank, sources[rank]) ? 1 : 0;
        return fitting;
    }

    void fillStates()
    {
        for (FlatUnit& unit : m_out.units)
            fillUnitStates(m_reading, unit, sourcesOf(unit));
        checkValuesOfGroups(m_reading);
        for (const FileId file : m_out.optimFiles) {
            if (m_reading.content(file) != nullptr && m_out.file(file).status != FileStatus::Foreign)
                checkOptimizerKeys(m_reading, file,
                    lookup(m_reading.content(file)->pickle(), wrapper(file), "base_optimizer_state"));
        }
        for (size_t g = 0; g < m_groups.size(); ++g) {
            if (m_groups[g].stateKeys.size() > 1)
                setStateAside(m_reading, "group" + std::to_string(g),
                    "has " + std::to_string(m_groups[g].stateKeys.size()) + " entries",
                    "ZeRO-1 and ZeRO-2 keep one for all parameters of a group");
        }
    }

    [[nodiscard]] std::vector<RankStates> sourcesOf(const FlatUnit& unit) const
    {
        std::vector<RankStates> perRank(unit.partition.ranks());
        for (uint32_t rank = 0; rank < perRank.size(); ++rank) {
            const FileId file = m_out.optimFiles[unit.dpRankOf(rank)];
            if (m_reading.content(file) != nullptr && m_out.file(file).status != FileStatus::Foreign)
                perRank[rank] = sourceOf(file, static_cast<uint32_t>(unit.group));
        }
        return perRank;
    }

    [[nodiscard]] RankStates sourceOf(FileId file, uint32_t g) const
    {
        const PickleGraph& graph = m_reading.content(file)->pickle();
        const NodeId node = wrapper(file);
        RankStates source;
        source.file = file;
        const auto masters = sequenceItems(graph, lookup(graph, node, "single_partition_of_fp32_groups"));
        if (g < masters.size())
            source.master = masters[g];
        const NodeId base = lookup(graph, node, "base_optimizer_state");
        source.lean = isElastic(file);
        if (const auto entries = sequenceItems(graph, base); source.lean && g < entries.size())
            source.state = entries[g];
        const auto groups = sequenceItems(graph, lookup(graph, base, "param_groups"));
        const GroupEntry group = g < groups.size() ? readParamGroup(graph, groups[g]) : GroupEntry();
        if (group.stateKeys.size() == 1)
            source.state = lookup(graph, lookup(graph, base, "state"), group.stateKeys.front());
        return source;
    }

    Reading& m_reading;
    Checkpoint& m_out;
    FusedExperts m_fused;
    FileId m_guide = kNoFile;
    NodeId m_base = kNoNode;
    bool m_elastic = false;
    std::vector<GroupEntry> m_groups;
};

} // namespace

Status readZero12(Reading& reading)
{
    return Zero12Reader(reading).run();
}

} // namespace shardscope
