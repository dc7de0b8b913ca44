// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/stage0/stage0_reader.h"

#include "core/base/finding_codes.h"
#include "core/base/text.h"
#include "core/checkpoint/model/checkpoint.h"
#include "core/checkpoint/model/fused_adam.h"
#include "core/checkpoint/naming/group_search.h"
#include "core/checkpoint/naming/stage0_evidence.h"
#include "core/checkpoint/stage0/stage0_groups.h"
#include "core/checkpoint/stage0/stage0_states.h"
#include "core/checkpoint/units/layer_files.h"
#include "core/checkpoint/units/module_reader.h"
#include "core/checkpoint/units/odd_states.h"
#include "core/checkpoint/units/unit_states.h"

#include <algorithm>
#include <unordered_map>

namespace shardscope {

namespace {

/// Reads the output of engines without ZeRO: FP16_Optimizer (runtime/fp16/fused_optimizer.py),
/// FP16_UnfusedOptimizer (runtime/fp16/unfused_optimizer.py), or torch's own optimizer. No file names the
/// parameters of a group. Order and split follow from `module`, shapes and values.
class Stage0Reader
{
public:
    explicit Stage0Reader(Reading& reading)
        : m_reading(reading)
        , m_out(reading.out)
        , m_graph(reading.content(reading.out.templateModel)->pickle())
        , m_optimizer(lookup(m_graph, reading.modelRoot, "optimizer"))
        , m_tensors(reading.ofStage != nullptr ? *reading.ofStage : listModuleTensors(reading))
        , m_evidence(reading, m_tensors, reading.out.templateModel)
    {
    }

    Status run()
    {
        reserveParameters(m_reading);
        if (!isMapping(m_graph, m_optimizer)) {
            readWithoutOptimizer();
            return {};
        }
        m_out.templateOptim = m_out.templateModel;
        m_out.optimFiles = {m_out.templateModel};
        m_out.optimWrapper = m_optimizer;
        readGroups();
        if (!m_out.modelError && !splitByNames())
            splitBySearch();
        if (m_out.modelError)
            return {};
        addUnits();
        if (m_out.modelError)
            return {};
        readModule(m_reading, true);
        if (m_reading.ofStage != nullptr) {
            if (hasTorchOptimizer(m_out.kind)) // the masters of 16-bit runs show the order
                m_out.evidence.emplace_back("the optimizer is taken to list the layers of a stage by their "
                                            "numbers, after modules that stages share");
            SHARDSCOPE_CHECK(readLayerFiles(m_reading));
        }
        if (hasTorchOptimizer(m_out.kind)) // the copies are the masters
            std::erase_if(m_out.whole, [&](const WholeTensor& whole) {
                return m_out.params[index(whole.param)].role == ParamRole::Trainable;
            });
        for (uint32_t g = 0; g < m_groups.size() && !m_out.modelError; ++g)
            fillStates(g);
        return {};
    }

private:
    static constexpr uint64_t kMaxTries = 50'000'000;

    [[nodiscard]] bool isFlat() const { return hasFlatMasters(m_out.kind); }

    void damaged(std::string what) const
    {
        m_reading.noModel(
            {ErrorCode::Damaged, std::move(what), m_out.file(m_out.templateModel).path.string(), {}});
    }

    /// Only weights are present. DeepSpeed 0.17.6 to 0.18.4 treats bf16 as ZeRO when it saves
    /// (runtime/engine.py, _save_checkpoint) and leaves the optimizer out.
    void readWithoutOptimizer()
    {
        if (wasSavedWithZero(m_reading)) {
            m_out.kind = CheckpointKind::Unknown;
            m_reading.add(code::kRankMissing, Severity::Error,
                "the optimizer files are missing: the model file was saved with ZeRO",
                m_out.file(m_out.templateModel).name);
            return damaged("the optimizer files are missing");
        }
        m_out.kind = CheckpointKind::Torch;
        readModule(m_reading, true);
        const bool lost = m_out.precision == "bf16"
            && (m_out.deepspeedVersion.starts_with("0.17.") || m_out.deepspeedVersion.starts_with("0.18."));
        m_reading.add(code::kStateMissing, lost ? Severity::Error : Severity::Warning,
            lost ? "the file holds no optimizer state: DeepSpeed 0.17.6 to 0.18.4 does not save it in bf16 "
                   "at stage 0, and nothing brings masters and moments back"
                 : "the file holds no optimizer state, only weights",
            m_out.file(m_out.templateModel).name);
    }

    void readGroups()
    {
        auto read = readStage0Groups(m_reading, m_out.templateModel, m_optimizer, m_out.kind);
        if (!read)
            return m_reading.stop(read.error());
        m_state = read->state;
        m_groups = std::move(read->groups);
    }

    /// torch records names if the optimizer was given them (torch/optim/optimizer.py, `param_names`).
    bool splitByNames()
    {
        std::unordered_map<std::string_view, uint32_t> byName;
        for (uint32_t i = 0; i < m_tensors.size(); ++i)
            byName.emplace(m_tensors[i].name, i);
        std::vector<std::vector<uint32_t>> members;
        std::vector<bool> used(m_tensors.size());
        for (const Stage0Group& group : m_groups) {
            auto& list = members.emplace_back();
            uint64_t elements = 0;
            for (const NodeId item :
                sequenceItems(m_graph, lookup(m_graph, group.entry.options, "param_names"))) {
                const auto name = asString(m_graph, item);
                const auto known = name ? byName.find(*name) : byName.end();
                if (known == byName.end() || used[known->second])
                    return false;
                if (isFlat() && m_tensors[known->second].elements == 0)
                    continue;
                used[known->second] = true;
                elements += m_tensors[known->second].elements;
                list.push_back(known->second);
            }
            const bool fits
                = isFlat() ? elements == group.flatRun.elements : list.size() == group.shapes.size();
            if (list.empty() || !fits || !haveShapes(group, list))
                return false;
        }
        m_members = std::move(members);
        m_out.evidence.emplace_back("the optimizer's `param_names` record its parameters");
        return true;
    }

    [[nodiscard]] bool haveShapes(const Stage0Group& group, const std::vector<uint32_t>& members) const
    {
        for (size_t i = 0; i < group.shapes.size(); ++i) {
            if (group.shapes[i] && *group.shapes[i] != m_tensors[members[i]].shape)
                return false;
        }
        return true;
    }

    void splitBySearch()
    {
        std::vector<uint32_t> candidates;
        GroupSearch search;
        for (uint32_t i = 0; i < m_tensors.size(); ++i) {
            if (isFlat() && m_tensors[i].elements == 0)
                continue; // the wrapper leaves these out
            candidates.push_back(i);
            search.weights.push_back(isFlat() ? m_tensors[i].elements : 1);
        }
        for (const Stage0Group& group : m_groups)
            search.sizes.push_back(isFlat() ? group.flatRun.elements : group.shapes.size());
        bool values = true;
        search.fits = [&](uint32_t candidate, uint32_t group, uint64_t position) {
            return fits(candidates[candidate], m_groups[group], position, values);
        };
        GroupSplit split = splitIntoGroups(search);
        if (split.outcome == GroupSplit::Outcome::None && !hasTorchOptimizer(m_out.kind)) {
            if (splitByValues(candidates))
                return;
            values = false;
            split = splitIntoGroups(search);
            if (split.outcome == GroupSplit::Outcome::One)
                m_reading.add(code::kStepMismatch, Severity::Error,
                    "the model's weights do not match the masters: they are from another step or run, or "
                    "damaged",
                    m_out.file(m_out.templateModel).name);
        }
        if (split.outcome == GroupSplit::Outcome::None)
            return damaged(
                "no choice of the module's tensors, in their order, makes up the optimizer's param groups");
        if (split.outcome != GroupSplit::Outcome::One && m_reading.hasNoValues())
            return m_reading.refuse("no names of the optimizer's parameters are recorded: only values "
                                    "identify them, and a skeleton has none");
        if (split.outcome != GroupSplit::Outcome::One)
            return m_reading.refuse(
                "nothing in it records which of its parameters belong to which param group: the file records "
                "no names of the optimizer's parameters, and by shapes"
                + std::string(hasTorchOptimizer(m_out.kind) ? "" : " and values") + " several choices fit");
        m_members.resize(m_groups.size());
        for (uint32_t i = 0; i < candidates.size(); ++i) {
            if (split.groupOf[i] >= 0)
                m_members[static_cast<size_t>(split.groupOf[i])].push_back(candidates[i]);
        }
        m_out.evidence.emplace_back(hasTorchOptimizer(m_out.kind)
                ? "names of the optimizer's parameters follow from the shapes of its states"
                : "names of the optimizer's parameters follow from its masters, which are the weights before "
                  "rounding");
    }

    /// For groups in another order than the module. Only the masters show which tensor comes next. If several
    /// tensors fit, uses the module's order.
    bool splitByValues(const std::vector<uint32_t>& candidates)
    {
        std::vector<bool> used(m_tensors.size());
        std::vector<std::vector<uint32_t>> members(m_groups.size());
        std::string_view unsureName;
        uint64_t tries = 0;
        for (size_t g = 0; g < m_groups.size(); ++g) {
            const uint64_t end = isFlat() ? m_groups[g].flatRun.elements : m_groups[g].shapes.size();
            size_t next = 0; // candidates are visited in the module's order, repeatedly
            for (uint64_t at = 0; at < end;) {
                const auto weight
                    = [&](uint32_t tensor) { return isFlat() ? m_tensors[tensor].elements : 1; };
                size_t found = candidates.size();
                for (size_t i = 0; i < candidates.size(); ++i) {
                    if (++tries > kMaxTries)
                        return false;
                    const size_t place = (next + i) % candidates.size();
                    const uint32_t tensor = candidates[place];
                    if (used[tensor] || weight(tensor) > end - at || !fits(tensor, m_groups[g], at, true))
                        continue;
                    if (found == candidates.size()) {
                        found = place;
                        continue;
                    }
                    unsureName = m_tensors[tensor].name;
                    break;
                }
                if (found == candidates.size())
                    return false;
                used[candidates[found]] = true;
                members[g].push_back(candidates[found]);
                at += weight(candidates[found]);
                next = found + 1;
            }
        }
        m_members = std::move(members);
        m_out.evidence.emplace_back(
            "names of the optimizer's parameters follow from its masters, whose order is not the module's");
        if (!unsureName.empty())
            m_reading.add(code::kParamOrder, Severity::Warning,
                "the values of some parameters do not determine their places in the optimizer's param "
                "groups; the order of the module is used",
                ParamAddress{std::string(unsureName), "fp32"}, {"its first values are those of another one"});
        return true;
    }

    bool fits(uint32_t tensor, const Stage0Group& group, uint64_t position, bool values)
    {
        const ModuleTensor& candidate = m_tensors[tensor];
        if (isFlat())
            return !values
                || m_evidence.agrees(tensor, group.flatRun.byteOffset + position * itemSize(group.masterType),
                    group.masterType);
        const std::optional<Shape>& shape = group.shapes[position];
        if (shape && *shape != candidate.shape)
            return false;
        const auto& masters = group.masterBytes[position];
        return !values || !masters || m_evidence.agrees(tensor, *masters, group.masterType);
    }

    void addUnits()
    {
        for (uint32_t g = 0; g < m_groups.size(); ++g) {
            FlatUnit unit;
            unit.kind = isFlat() ? UnitKind::Group : UnitKind::Whole;
            unit.group = static_cast<int32_t>(g);
            std::vector<uint64_t> elements;
            for (const uint32_t member : m_members[g]) {
                const ModuleTensor& tensor = m_tensors[member];
                const ParamId id
                    = addParameter(m_reading, std::string(tensor.name), tensor.shape, ParamRole::Trainable);
                Parameter& param = m_out.params[index(id)];
                param.group = unit.group;
                param.unit = UnitId{g};
                param.indexInUnit = static_cast<uint32_t>(unit.params.size());
                unit.params.push_back(id);
                elements.push_back(param.elements);
                if (hasTorchOptimizer(m_out.kind) && !tensor.contiguous)
                    return m_reading.refuse(
                        "parameter `" + toValidUtf8(tensor.name) + "` is not stored in row-major order");
            }
            auto partition = FlatPartition::contiguous(std::move(elements), 1, 1);
            if (!partition)
                return m_reading.noModel(partition.error());
            unit.partition = std::move(*partition);
            ParamGroup group;
            group.index = g;
            group.units = {UnitId{g}};
            group.parameters = unit.params.size();
            group.elements = unit.partition.payloadElements();
            group.options = m_groups[g].entry.options;
            m_out.groups.push_back(std::move(group));
            m_out.units.push_back(std::move(unit));
        }
    }

    void fillStates(uint32_t g)
    {
        const Stage0Group& group = m_groups[g];
        FlatUnit& unit = m_out.units[g];
        if (isFlat()) {
            RankStates source{m_out.templateModel, group.flat, kNoNode};
            if (group.entry.stateKeys.size() == 1)
                source.state = lookup(m_graph, m_state, group.entry.stateKeys.front());
            fillUnitStates(m_reading, unit, {source});
            return;
        }
        WholeSources sources;
        sources.entries = group.states;
        sources.masterType = group.masterType;
        sources.stepOfLast = isFusedAdam(m_graph, group.entry.options);
        for (size_t i = 0; i < unit.params.size(); ++i) {
            const ModuleTensor& tensor = m_tensors[m_members[g][i]];
            StoredRun run = tensor.run;
            if (hasTorchOptimizer(m_out.kind)) {
                if (i == 0)
                    sources.masterType = tensor.dtype;
                if (tensor.dtype != sources.masterType)
                    return m_reading.refuse("parameters of one param group have different dtypes");
            } else {
                const auto extent
                    = m_reading.content(m_out.templateModel)->extentOf(*asTensor(m_graph, group.masters[i]));
                run = {m_out.templateModel, extent->record, extent->byteOffset, tensor.elements};
            }
            sources.masters.push_back(run);
        }
        fillStage0Unit(m_reading, unit, sources);
    }

    Reading& m_reading;
    Checkpoint& m_out;
    const PickleGraph& m_graph;
    NodeId m_optimizer;
    NodeId m_state = kNoNode;
    std::vector<ModuleTensor> m_tensors;
    CopyEvidence m_evidence;
    std::vector<Stage0Group> m_groups;
    std::vector<std::vector<uint32_t>> m_members; ///< per group: indices into m_tensors, in its order
};

} // namespace

Status readStage0(Reading& reading)
{
    return Stage0Reader(reading).run();
}

} // namespace shardscope
