// SPDX-License-Identifier: Apache-2.0
#include "core/base/text.h"
#include "core/checkpoint/model/layer_names.h"
#include "core/checkpoint/model/scalar_text.h"
#include "core/layout/slices/merged_slices.h"
#include "core/torchfile/pickle/pickle_values.h"

#include <algorithm>

namespace shardscope {

namespace {

/// Everything in a param group except its parameters' numbers.
std::string optionsOf(const Checkpoint& of, size_t group)
{
    const NodeId node = of.groups[group].options;
    if (node == kNoNode || !of.isReadable(of.templateOptim))
        return {};
    const TorchFile& file = *of.file(of.templateOptim).content;
    const PickleGraph& graph = file.pickle();
    const auto items = mappingItems(graph, node);
    std::string out;
    for (size_t i = 0; i + 1 < items.size(); i += 2) {
        const auto key = asString(graph, items[i]);
        if (key && *key != "params")
            out += std::string(*key) + "=" + scalarText(file, items[i + 1]) + "\n";
    }
    return out;
}

/// Merges the pipeline stages of one checkpoint.
class StageMerger
{
public:
    StageMerger(const CheckpointPtr& of, const SliceRules* rules)
        : m_of(of)
        , m_rules(rules)
    {
    }

    Result<CheckpointPtr> run()
    {
        SHARDSCOPE_CHECK(addStages());
        SHARDSCOPE_CHECK(checkGroups());
        auto out = emptyMerged(*m_of);
        auto merged = std::make_shared<MergedSlices>();
        merged->of = m_of;
        m_merged = merged.get();
        m_out = out.get();
        SHARDSCOPE_CHECK(addParams());
        addTies();
        addWhole();
        SHARDSCOPE_TRY(const auto order, orderOfGroups());
        SHARDSCOPE_CHECK(addMergedUnits(*m_of, order, *out));
        out->merged = std::move(merged);
        return CheckpointPtr(std::move(out));
    }

private:
    [[nodiscard]] const Checkpoint& stageModel(size_t stage) const { return *m_stages[stage]; }
    [[nodiscard]] size_t stages() const { return m_stages.size(); }
    [[nodiscard]] bool hasSlices() const { return m_of->parallel.tp > 1; }
    [[nodiscard]] tl::unexpected<Error> refuse(std::string what, std::string hint = {}) const
    {
        return fail(ErrorCode::Refused, std::move(what), m_of->tagFolder.string(), std::move(hint));
    }

    /// Adds every stage by itself, with its slices merged.
    Status addStages()
    {
        uint32_t firstParam = 0;
        if (m_of->parts.empty()) {
            m_firstParam = {0};
            m_stages = {m_of};
            return {};
        }
        for (uint32_t stage = 0; stage < m_of->parallel.pp; ++stage) {
            m_firstParam.push_back(firstParam);
            const auto first = m_of->parts.begin() + ptrdiff_t{stage} * m_of->parallel.tp;
            const std::vector<CheckpointPtr> slices(first, first + m_of->parallel.tp);
            uint32_t end = firstParam;
            for (const CheckpointPtr& slice : slices)
                end += static_cast<uint32_t>(slice->params.size());
            if (!hasSlices()) {
                m_stages.push_back(slices.front());
            } else {
                SHARDSCOPE_TRY(CheckpointPtr merged, mergeSlices(ofStage(slices, firstParam, end), m_rules));
                m_stages.push_back(std::move(merged));
            }
            firstParam = end;
        }
        return {};
    }

    /// The slices of one stage as a separate checkpoint.
    [[nodiscard]] CheckpointPtr ofStage(
        const std::vector<CheckpointPtr>& slices, uint32_t firstParam, uint32_t end) const
    {
        auto out = std::make_shared<Checkpoint>(*m_of);
        const Checkpoint& first = *slices.front();
        out->parts = slices;
        out->parallel.pp = 1;
        out->params.assign(m_of->params.begin() + firstParam, m_of->params.begin() + end);
        out->paramByName.clear();
        out->templateModel = first.templateModel;
        out->templateOptim = first.templateOptim;
        out->optimWrapper = first.optimWrapper;
        return out;
    }

    /// Checks that all stages' optimizers have the same param groups. The merged optimizer has them, too.
    Status checkGroups() const
    {
        for (size_t stage = 1; stage < stages(); ++stage) {
            const auto count = stageModel(stage).groups.size();
            if (count != stageModel(0).groups.size())
                return refuse("pipeline stages 0 and " + std::to_string(stage) + " have "
                    + std::to_string(stageModel(0).groups.size()) + " and " + std::to_string(count)
                    + " param groups, so it cannot be determined which of them belong together");
            for (size_t group = 0; group < count; ++group) {
                if (optionsOf(stageModel(stage), group) != optionsOf(stageModel(0), group))
                    return refuse("the options of param group " + std::to_string(group)
                        + " differ between pipeline stages 0 and " + std::to_string(stage));
            }
        }
        return {};
    }

    Status addParams()
    {
        for (size_t stage = 0; stage < stages(); ++stage) {
            m_inOut.emplace_back();
            for (uint32_t i = 0; i < stageModel(stage).params.size(); ++i) {
                const Parameter& from = stageModel(stage).params[i];
                SHARDSCOPE_TRY(const ParamId id, paramFor(from, stage));
                m_inOut.back().push_back(id);
                const bool stored = from.role == ParamRole::Trainable && from.sharedWith == kNoParam;
                if (!stored || from.elements == 0)
                    continue;
                if (m_merged->pieces[index(id)].empty())
                    addPieces(stage, ParamId{i}, id);
                m_merged->tied[index(id)].push_back(firstSlice(stage, ParamId{i}));
            }
        }
        return {};
    }

    [[nodiscard]] ParamId firstSlice(size_t stage, ParamId param) const
    {
        const ParamId slice
            = hasSlices() ? stageModel(stage).merged->pieces[index(param)].front().slice : param;
        return ParamId{index(slice) + m_firstParam[stage]};
    }

    /// Converts pieces to refer to the parameters of all parts.
    void addPieces(size_t stage, ParamId from, ParamId to)
    {
        const uint32_t offset = m_firstParam[stage];
        const uint64_t elements = stageModel(stage).params[index(from)].elements;
        std::vector<SlicePiece>& pieces = m_merged->pieces[index(to)];
        if (!hasSlices()) {
            pieces.push_back({ParamId{offset + index(from)}, 0, elements, 0, elements, elements, 1});
            return;
        }
        const MergedSlices& slices = *stageModel(stage).merged;
        const auto shifted = [&](std::vector<ParamId> ids) {
            for (ParamId& id : ids)
                id = ParamId{index(id) + offset};
            return ids;
        };
        for (SlicePiece piece : slices.pieces[index(from)]) {
            piece.slice = ParamId{index(piece.slice) + offset};
            pieces.push_back(piece);
        }
        m_merged->marks[index(to)] = slices.marks[index(from)];
        m_merged->alike[index(to)] = shifted(slices.alike[index(from)]);
        m_merged->unnamed[index(to)] = shifted(slices.unnamed[index(from)]);
        m_merged->isRuled[index(to)] = slices.isRuled[index(from)];
    }

    /// A parameter that several stages have becomes one.
    Result<ParamId> paramFor(const Parameter& from, size_t stage)
    {
        if (const auto known = m_out->findParam(from.name)) {
            const Parameter& of = m_out->params[index(*known)];
            if (of.shape != from.shape || of.role != from.role || of.group != from.group)
                return refuse("`" + toValidUtf8(from.name) + "` of pipeline stage " + std::to_string(stage)
                    + " differs in shape or param group from that of the stage before it");
            return *known;
        }
        const ParamId id{static_cast<uint32_t>(m_out->params.size())};
        Parameter param = from;
        param.unit = kNoUnit;
        m_out->paramByName.emplace(param.name, id);
        m_out->params.push_back(std::move(param));
        m_merged->pieces.emplace_back();
        m_merged->tied.emplace_back();
        if (hasSlices()) {
            m_merged->marks.emplace_back();
            m_merged->alike.emplace_back();
            m_merged->unnamed.emplace_back();
            m_merged->isRuled.push_back(false);
        }
        return id;
    }

    /// Points aliases to their owner's new number.
    void addTies()
    {
        for (size_t stage = 0; stage < stages(); ++stage) {
            for (uint32_t i = 0; i < stageModel(stage).params.size(); ++i) {
                const ParamId owner = stageModel(stage).params[i].sharedWith;
                if (owner != kNoParam)
                    m_out->params[index(m_inOut[stage][i])].sharedWith = m_inOut[stage][index(owner)];
            }
        }
    }

    /// Skipped if the layers' files hold slices: those are left out.
    void addWhole()
    {
        if (hasSlices())
            return;
        std::vector<bool> has(m_out->params.size());
        for (size_t stage = 0; stage < stages(); ++stage) {
            for (WholeTensor tensor : stageModel(stage).whole) {
                tensor.param = m_inOut[stage][index(tensor.param)];
                if (has[index(tensor.param)])
                    continue;
                has[index(tensor.param)] = true;
                m_out->whole.push_back(std::move(tensor));
            }
        }
        std::sort(m_out->whole.begin(), m_out->whole.end(),
            [](const WholeTensor& a, const WholeTensor& b) { return index(a.param) < index(b.param); });
    }

    /// Tied modules in the order in which the stages use them first, then the layers, ascending over the
    /// stages.
    Result<std::vector<std::vector<ParamId>>> orderOfGroups() const
    {
        std::vector<std::vector<ParamId>> out;
        for (size_t g = 0; g < stageModel(0).groups.size(); ++g) {
            std::vector<ParamId> tied;
            std::vector<ParamId> layers;
            uint32_t last = 0;
            for (size_t stage = 0; stage < stages(); ++stage) {
                bool pastTied = false;
                for (const ParamId id : optimizerOrder(stage, g)) {
                    const ParamId param = m_inOut[stage][index(id)];
                    const std::string& name = m_out->params[index(param)].name;
                    const auto layer = layerOf(name);
                    const bool isTied = !insideTied(name).empty();
                    if ((isTied && pastTied) || (!isTied && (!layer || *layer < last)))
                        return refuse("`" + toValidUtf8(name)
                                + "` is not where a PipelineModule's parameters are in param group "
                                + std::to_string(g),
                            "the order of the merged group cannot be determined");
                    pastTied = !isTied;
                    last = layer.value_or(last);
                    auto& list = isTied ? tied : layers;
                    if (!isTied || std::find(tied.begin(), tied.end(), param) == tied.end())
                        list.push_back(param);
                }
            }
            tied.insert(tied.end(), layers.begin(), layers.end());
            out.push_back(std::move(tied));
        }
        return out;
    }

    [[nodiscard]] std::vector<ParamId> optimizerOrder(size_t stage, size_t group) const
    {
        std::vector<ParamId> out;
        for (const UnitId id : stageModel(stage).groups[group].units) {
            const std::vector<ParamId>& params = stageModel(stage).units[index(id)].params;
            out.insert(out.end(), params.begin(), params.end());
        }
        return out;
    }

    CheckpointPtr m_of;
    const SliceRules* m_rules;
    std::vector<CheckpointPtr> m_stages;
    std::vector<uint32_t> m_firstParam; ///< per stage: its first parameter among those of all parts
    MergedSlices* m_merged = nullptr;
    Checkpoint* m_out = nullptr;
    std::vector<std::vector<ParamId>> m_inOut; ///< stage, its parameter → the merged parameter
};

} // namespace

Result<CheckpointPtr> mergeStages(const CheckpointPtr& of, const SliceRules* rules)
{
    const auto unsupported
        = [&](const char* what) { return fail(ErrorCode::Unsupported, what, of->tagFolder.string()); };
    if (of->parallel.ep > 1)
        return unsupported("this build does not merge pipeline stages with experts");
    if (of->roundRobin)
        return unsupported("this build does not merge pipeline stages under round_robin_gradients");
    const bool single = of->parts.empty() && of->parallel.tp * of->parallel.pp == 1;
    if (!single && of->parts.size() != size_t{of->parallel.tp} * of->parallel.pp)
        return unsupported("the checkpoint does not have all ranks of its pipeline stages");
    SHARDSCOPE_TRY(CheckpointPtr merged, StageMerger(of, rules).run());
    return merged;
}

Result<CheckpointPtr> mergeSlicesAndStages(const CheckpointPtr& of, const SliceRules* rules)
{
    if (of->parts.empty())
        return of;
    return of->parallel.pp > 1 ? mergeStages(of, rules) : mergeSlices(of, rules);
}

} // namespace shardscope
