// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/stage0/stage0_reader.h"

#include "core/base/finding_codes.h"
#include "core/base/text.h"
#include "core/checkpoint/folder/model_header.h"
#include "core/checkpoint/model/checkpoint.h"
#include "core/checkpoint/model/fused_adam.h"
#include "core/checkpoint/stage0/stage0_states.h"
#include "core/checkpoint/units/group_search.h"
#include "core/checkpoint/units/layer_files.h"
#include "core/checkpoint/units/module_reader.h"
#include "core/checkpoint/units/other_values.h"
#include "core/checkpoint/units/stage0_evidence.h"
#include "core/checkpoint/units/unit_states.h"

#include <algorithm>
#include <array>
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
        if (!isMapping(m_graph, m_optimizer))
            return readWithoutOptimizer();
        m_out.templateOptim = m_out.templateModel;
        m_out.optimFiles = {m_out.templateModel};
        m_out.optimWrapper = m_optimizer;
        SHARDSCOPE_TRY(auto read, readStage0Groups(m_reading, m_out.templateModel, m_optimizer, m_out.kind));
        m_state = read.state;
        m_groups = std::move(read.groups);
        if (!splitByNames())
            SHARDSCOPE_CHECK(splitBySearch());
        SHARDSCOPE_CHECK(addUnits());
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
        for (uint32_t g = 0; g < m_groups.size(); ++g)
            SHARDSCOPE_CHECK(fillStates(g));
        checkOptimizerKeys(m_reading, m_out.templateModel,
            hasTorchOptimizer(m_out.kind) ? m_optimizer
                                          : lookup(m_graph, m_optimizer, "optimizer_state_dict"));
        return {};
    }

private:
    static constexpr uint64_t kMaxTries = 50'000'000;

    [[nodiscard]] bool isFlat() const { return hasFlatMasters(m_out.kind); }

    [[nodiscard]] tl::unexpected<Error> damaged(std::string what) const
    {
        return fail(ErrorCode::Damaged, std::move(what), m_out.file(m_out.templateModel).path.string());
    }

    [[nodiscard]] int64_t configuredStage() const
    {
        return modelStates(m_reading).configInteger({"zero_optimization", "stage"}).value_or(0);
    }

    /// The kind of a run whose optimizer is in other files, from its configuration.
    [[nodiscard]] CheckpointKind configuredKind() const
    {
        const int64_t stage = configuredStage();
        if (stage == 0) // in bf16 some releases use BF16_Optimizer then
            return m_out.precision == "bf16" ? CheckpointKind::Bf16 : CheckpointKind::Unknown;
        return stage == 1 || stage == 2 ? kindOfStage(static_cast<int>(stage)) : CheckpointKind::Unknown;
    }

    /// Whether DeepSpeed did not save the optimizer: these releases treat bf16 at stage 0 as ZeRO when they
    /// save, and leave it out (runtime/engine.py, _save_checkpoint).
    [[nodiscard]] bool wasNeverSaved() const
    {
        static constexpr std::array<std::string_view, 6> kReleases{
            "0.17.6", "0.18.0", "0.18.1", "0.18.2", "0.18.3", "0.18.4"};
        const std::string_view version = m_out.deepspeedVersion;
        return m_out.precision == "bf16" && configuredStage() == 0
            && std::find(kReleases.begin(), kReleases.end(), version.substr(0, version.find('+')))
            != kReleases.end();
    }

    /// Only weights are present: the optimizer's files are not here, or it was not saved.
    Status readWithoutOptimizer()
    {
        const bool lost = wasNeverSaved();
        const bool inFiles = wasSavedWithZero(m_reading) && !lost;
        m_out.kind = inFiles ? configuredKind() : CheckpointKind::Torch;
        if (isUnknown(m_out.kind)) {
            m_reading.add(code::kRankMissing, Severity::Error,
                "the optimizer files are missing: the model file was saved with ZeRO",
                m_out.file(m_out.templateModel).name);
            return damaged("the optimizer files are missing");
        }
        m_out.zeroStage = traitsOf(m_out.kind).stage.value_or(m_out.zeroStage);
        for (const auto& group : readParamShapes(m_reading).value_or(ShapeLists())) {
            for (const NamedShape& entry : group)
                addParameter(m_reading, std::string(entry.name), entry.shape, ParamRole::Trainable);
        }
        readModule(m_reading, true);
        const std::string lacks = inFiles
            ? "no optimizer file is here: masters and optimizer states are missing"
            : lost
            ? "DeepSpeed did not save masters and optimizer states: 0.17.6 to 0.18.4 leave them out in "
              "bf16 at stage 0"
            : "the file holds no optimizer state, only weights";
        std::vector<std::string> evidence{weightsText()};
        if (inFiles)
            evidence.push_back("the model file was saved with ZeRO, and `dp_world_size` is "
                + std::to_string(m_out.parallel.dp));
        m_reading.add(code::kOptimizerMissing, lost || inFiles ? Severity::Error : Severity::Warning, lacks,
            m_out.file(m_out.templateModel).name, std::move(evidence));
        return {};
    }

    /// Which weights the file holds.
    [[nodiscard]] std::string weightsText() const
    {
        size_t all = 0;
        size_t here = 0;
        for (uint32_t i = 0; i < m_out.params.size(); ++i) {
            if (m_out.params[i].role == ParamRole::Buffer || m_out.params[i].sharedWith != kNoParam)
                continue;
            ++all;
            here += m_out.wholeOf(ParamId{i}) != nullptr ? 1 : 0;
        }
        return (here == all ? "all weights are here, in " + m_out.precision
                            : std::to_string(here) + " of " + std::to_string(all) + " weights are here, in "
                    + m_out.precision);
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

    Status splitBySearch()
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
                return {};
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
            return fail(ErrorCode::Unsupported,
                "no names of the optimizer's parameters are recorded: only values "
                "identify them, and a skeleton has none");
        if (split.outcome != GroupSplit::Outcome::One)
            return fail(ErrorCode::Unsupported,
                "nothing in it records which of its parameters belong to which param group: the file records "
                "no names of the optimizer's parameters, and by shapes"
                    + std::string(hasTorchOptimizer(m_out.kind) ? "" : " and values")
                    + " several choices fit");
        m_members.resize(m_groups.size());
        for (uint32_t i = 0; i < candidates.size(); ++i) {
            if (split.groupOf[i] >= 0)
                m_members[static_cast<size_t>(split.groupOf[i])].push_back(candidates[i]);
        }
        m_out.evidence.emplace_back(hasTorchOptimizer(m_out.kind)
                ? "names of the optimizer's parameters follow from the shapes of its states"
                : "names of the optimizer's parameters follow from its masters, which are the weights before "
                  "rounding");
        return {};
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

    Status addUnits()
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
                    return fail(ErrorCode::Unsupported,
                        "parameter `" + toValidUtf8(tensor.name) + "` is not stored in row-major order");
            }
            SHARDSCOPE_TRY(unit.partition, FlatPartition::contiguous(std::move(elements), 1, 1));
            ParamGroup group;
            group.index = g;
            group.units = {UnitId{g}};
            group.parameters = unit.params.size();
            group.elements = unit.partition.payloadElements();
            group.options = m_groups[g].entry.options;
            m_out.groups.push_back(std::move(group));
            m_out.units.push_back(std::move(unit));
        }
        return {};
    }

    Status fillStates(uint32_t g)
    {
        const Stage0Group& group = m_groups[g];
        FlatUnit& unit = m_out.units[g];
        if (isFlat()) {
            RankStates source{m_out.templateModel, group.flat, kNoNode};
            if (group.entry.stateKeys.size() == 1)
                source.state = lookup(m_graph, m_state, group.entry.stateKeys.front());
            fillUnitStates(m_reading, unit, {source});
            return {};
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
                    return fail(
                        ErrorCode::Unsupported, "parameters of one param group have different dtypes");
            } else {
                const auto extent
                    = m_reading.content(m_out.templateModel)->extentOf(*asTensor(m_graph, group.masters[i]));
                run = {m_out.templateModel, extent->record, extent->byteOffset, tensor.elements};
            }
            sources.masters.push_back(run);
        }
        return fillStage0Unit(m_reading, unit, sources);
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
