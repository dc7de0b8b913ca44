// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/stage0/stage0_stages.h"

#include "core/checkpoint/model/layer_names.h"
#include "core/checkpoint/stage0/stage0_layers.h"
#include "core/checkpoint/units/group_search.h"
#include "core/checkpoint/units/model_ranks.h"

#include <algorithm>
#include <numeric>
#include <set>

namespace shardscope {

namespace {

/// The layers of one stage.
struct StageChoice {
    uint32_t begin = 0; ///< of its layer files
    uint32_t end = 0;
    std::vector<uint32_t> tied; ///< layers of other stages with modules that it uses, too
};

/// The tensors of every stage in the order of its parameters. Tied modules come first (pipe/module.py,
/// __init__).
using StageTensors = std::vector<std::vector<uint32_t>>;

/// Where a tensor's values are in the optimizer of a stage.
using Places = std::map<uint32_t, std::pair<uint32_t, uint64_t>>; ///< tensor → group, position

/// Tries all ways to assign consecutive layers to the stages, with as few tied modules as possible.
class StageSearch
{
public:
    StageSearch(const Reading& reading, const Stage0Pipeline& pipeline)
        : m_reading(reading)
        , m_of(pipeline)
        , m_samples(reading)
    {
        for (const Stage0Stage& stage : pipeline.stages)
            m_evidence.emplace_back(reading, pipeline.tensors, stage.model);
    }

    Result<StageTensors> run()
    {
        const size_t most = std::max<size_t>(m_of.stages.size(), kMaxTied) - 1;
        for (m_extra = 0; m_extra <= most && m_found.empty() && m_tries < kMaxTries && !m_leftOut; ++m_extra)
            addStage(0, 0, 0);
        const auto refused = [&](std::string_view why) {
            return fail(ErrorCode::Unsupported,
                "it was saved without ZeRO (stage 0) by pipeline stages, no file records which layers a "
                "stage has, and "
                    + std::string(why),
                m_reading.out.tagFolder.string());
        };
        if (m_tries >= kMaxTries || m_leftOut)
            return refused("there are too many layers and stages to try every choice");
        if (m_found.empty())
            return refused("no choice of consecutive layers and tied modules fits the parameters in the "
                           "stages' optimizers: some parameters are frozen, files are missing or of another "
                           "step, or no step was taken yet");
        if (m_found.size() > 1)
            return refused(
                "several choices of layers and tied modules fit the parameters in the stages' optimizers");
        return *m_found.begin();
    }

private:
    static constexpr size_t kMaxTied = 4;
    static constexpr uint64_t kMaxTries = 20'000'000;
    static constexpr size_t kMaxOrdered = 4; ///< tied modules of a stage that are tried in every order

    [[nodiscard]] uint32_t layerCount() const { return static_cast<uint32_t>(m_of.layers.size()); }

    void addStage(uint32_t stage, uint32_t begin, size_t used)
    {
        if (stage == m_of.stages.size()) {
            if (begin == layerCount() && used == m_extra)
                addSolution();
            return;
        }
        tryLayers(stage, begin, {}, used);
        for (uint32_t a = 0; a < layerCount() && used < m_extra && m_tries < kMaxTries; ++a) {
            if (!mayBeTied(a))
                continue;
            tryLayers(stage, begin, {a}, used + 1);
            for (uint32_t b = a + 1; b < layerCount() && used + 1 < m_extra && m_tries < kMaxTries; ++b) {
                if (mayBeTied(b))
                    tryLayers(stage, begin, {a, b}, used + 2);
            }
        }
    }

    [[nodiscard]] bool mayBeTied(uint32_t layer) const
    {
        return m_of.layers[layer].module == layer && m_of.layers[layer].weight > 0;
    }

    /// Tries every last layer that gives the stage as many parameters as its optimizer has.
    void tryLayers(uint32_t stage, uint32_t begin, std::vector<uint32_t> tied, size_t used)
    {
        const uint64_t wanted = m_of.stages[stage].weight;
        std::set<uint32_t> modules(tied.begin(), tied.end());
        uint64_t sum = 0;
        for (const uint32_t layer : tied)
            sum += m_of.layers[layer].weight;
        for (uint32_t end = begin; sum <= wanted && m_tries < kMaxTries; ++end) {
            ++m_tries;
            const bool isLast = end == layerCount();
            const bool mayGoOn = !isLast && (!m_of.layers[end].stage || *m_of.layers[end].stage == stage);
            // A layer without parameters belongs to the stage before it, unless its buffers show another one.
            if (sum == wanted && !(mayGoOn && m_of.layers[end].weight == 0)) {
                m_choices.push_back({begin, end, tied});
                if (shapesFit(stage))
                    addStage(stage + 1, end, used);
                m_choices.pop_back();
            }
            if (!mayGoOn)
                return;
            const Stage0Layer& layer = m_of.layers[end];
            const bool isNew = modules.insert(layer.module).second;
            if (!isNew && std::find(tied.begin(), tied.end(), layer.module) != tied.end())
                return; // it has its own file
            sum += isNew ? layer.weight : 0;
        }
    }

    /// The layers of the last choice, each module once.
    [[nodiscard]] std::vector<uint32_t> layersOf(const StageChoice& choice) const
    {
        std::vector<uint32_t> out = choice.tied;
        std::set<uint32_t> modules(out.begin(), out.end());
        for (uint32_t layer = choice.begin; layer < choice.end; ++layer) {
            if (modules.insert(m_of.layers[layer].module).second)
                out.push_back(layer);
        }
        return out;
    }

    [[nodiscard]] bool shapesFit(uint32_t stage) const
    {
        const std::vector<Shape>& wanted = m_of.stages[stage].shapes;
        if (wanted.empty())
            return true;
        std::vector<Shape> shapes;
        for (const uint32_t layer : layersOf(m_choices.back())) {
            for (const uint32_t tensor : m_of.layers[layer].tensors)
                shapes.push_back(m_of.tensors[tensor].shape);
        }
        std::sort(shapes.begin(), shapes.end());
        return shapes == wanted;
    }

    /// Modules that more than one layer uses.
    [[nodiscard]] std::set<uint32_t> tiedModules() const
    {
        std::set<uint32_t> out;
        for (uint32_t layer = 0; layer < layerCount(); ++layer) {
            if (m_of.layers[layer].module != layer)
                out.insert(m_of.layers[layer].module);
        }
        for (const StageChoice& choice : m_choices)
            out.insert(choice.tied.begin(), choice.tied.end());
        return out;
    }

    void addSolution()
    {
        m_tries += m_of.tensors.size();
        const std::set<uint32_t> tied = tiedModules();
        std::vector<std::pair<StageTensors, std::vector<Places>>> ways{{{}, {}}};
        for (uint32_t stage = 0; stage < m_of.stages.size(); ++stage) {
            const auto orders = ordersOf(stage, tied);
            std::vector<std::pair<StageTensors, std::vector<Places>>> next;
            for (const auto& [tensors, places] : ways) {
                for (const auto& [order, at] : orders) {
                    next.emplace_back(tensors, places);
                    next.back().first.push_back(order);
                    next.back().second.push_back(at);
                }
            }
            if (next.size() > kMaxWays) {
                m_leftOut = true;
                return;
            }
            ways = std::move(next);
        }
        for (const auto& [tensors, places] : ways) {
            if (tiesAgree(tied, places))
                m_found.insert(tensors);
        }
    }

    /// The possible orders of a stage's parameters in its optimizer.
    std::vector<std::pair<std::vector<uint32_t>, Places>> ordersOf(
        uint32_t stage, const std::set<uint32_t>& tied)
    {
        std::vector<uint32_t> shared;
        std::vector<uint32_t> own;
        for (const uint32_t layer : layersOf(m_choices[stage]))
            (tied.contains(m_of.layers[layer].module) ? shared : own).push_back(layer);
        std::sort(shared.begin(), shared.end());
        std::vector<std::pair<std::vector<uint32_t>, Places>> out;
        if (shared.size() > kMaxOrdered) {
            m_leftOut = true;
            return out;
        }
        do {
            std::vector<uint32_t> tensors;
            for (const std::vector<uint32_t>& layers : {shared, own}) {
                for (const uint32_t layer : layers)
                    tensors.insert(
                        tensors.end(), m_of.layers[layer].tensors.begin(), m_of.layers[layer].tensors.end());
            }
            Places places;
            if (splits(stage, tensors, places))
                out.emplace_back(std::move(tensors), std::move(places));
        } while (std::next_permutation(shared.begin(), shared.end()));
        return out;
    }

    /// Whether the tensors, in this order, form the param groups. If so, sets their places.
    bool splits(uint32_t stage, const std::vector<uint32_t>& tensors, Places& places)
    {
        const Stage0Stage& of = m_of.stages[stage];
        std::vector<uint32_t> candidates;
        GroupSearch search;
        for (const uint32_t tensor : tensors) {
            if (m_of.weightOf(tensor) == 0)
                continue; // the wrapper leaves these out
            candidates.push_back(tensor);
            search.weights.push_back(m_of.weightOf(tensor));
        }
        for (const Stage0Group& group : of.groups)
            search.sizes.push_back(m_of.isFlat() ? group.flatRun.elements : group.shapes.size());
        search.fits = [&](uint32_t candidate, uint32_t group, uint64_t position) {
            return fits(stage, candidates[candidate], of.groups[group], position);
        };
        const GroupSplit split = splitIntoGroups(search);
        if (split.outcome == GroupSplit::Outcome::None)
            return false;
        if (split.outcome != GroupSplit::Outcome::One)
            return true; // the stage's own reader reports that the groups cannot be determined
        std::vector<uint64_t> filled(of.groups.size());
        for (size_t i = 0; i < candidates.size(); ++i) {
            if (split.groupOf[i] < 0)
                return false;
            const auto group = static_cast<uint32_t>(split.groupOf[i]);
            places.emplace(candidates[i], std::pair(group, filled[group]));
            filled[group] += m_of.weightOf(candidates[i]);
        }
        return true;
    }

    bool fits(uint32_t stage, uint32_t tensor, const Stage0Group& group, uint64_t position)
    {
        const auto master = masterAt(group, position);
        if (!m_of.isFlat() && group.shapes[position] && *group.shapes[position] != m_of.tensors[tensor].shape)
            return false;
        return !master || m_evidence[stage].agrees(tensor, *master, group.masterType);
    }

    [[nodiscard]] std::optional<uint64_t> masterAt(const Stage0Group& group, uint64_t position) const
    {
        if (m_of.isFlat())
            return group.flatRun.byteOffset + position * itemSize(group.masterType);
        return group.masterBytes[position];
    }

    /// All stages that use a tied module update it in the same way. So each has the same masters and moments
    /// for it (pipe/engine.py, _exec_reduce_tied_grads).
    bool tiesAgree(const std::set<uint32_t>& tied, const std::vector<Places>& places)
    {
        for (const uint32_t module : tied) {
            for (size_t i = 0; i < m_of.layers[module].tensors.size(); ++i) {
                std::optional<std::vector<uint8_t>> first;
                for (uint32_t layer = 0; layer < layerCount(); ++layer) {
                    if (m_of.layers[layer].module != module)
                        continue;
                    const uint32_t tensor = m_of.layers[layer].tensors[i];
                    for (uint32_t stage = 0; stage < places.size(); ++stage) {
                        const auto place = places[stage].find(tensor);
                        if (place == places[stage].end())
                            continue;
                        const auto sample = stateSample(stage, tensor, place->second);
                        if (m_reading.hasNoValues())
                            continue;
                        if (sample.empty() || (first && *first != sample))
                            return false;
                        first = sample;
                    }
                }
            }
        }
        return true;
    }

    /// The first masters. Without masters: the first elements of the largest state.
    std::vector<uint8_t> stateSample(
        uint32_t stage, uint32_t tensor, const std::pair<uint32_t, uint64_t>& place)
    {
        const Stage0Group& group = m_of.stages[stage].groups[place.first];
        const FileId file = m_of.stages[stage].model;
        const uint64_t elements = m_of.tensors[tensor].elements;
        if (const auto master = masterAt(group, place.second))
            return m_samples.read(file, *master, elements, group.masterType);
        const TorchFile& content = *m_reading.content(file);
        const PickleGraph& graph = content.pickle();
        const NodeId entry = group.states[place.second];
        const auto items = mappingItems(graph, entry);
        for (size_t i = 0; entry != kNoNode && i + 1 < items.size(); i += 2) {
            if (asString(graph, items[i]) == "step" || !looksLikeTensor(graph, items[i + 1]))
                continue;
            const auto state = asTensor(graph, items[i + 1]);
            const auto extent = state ? content.extentOf(*state) : forward(state.error());
            if (state && extent && state->elements() == elements)
                return m_samples.read(file, extent->byteOffset, elements, state->dtype);
        }
        return {};
    }

    static constexpr size_t kMaxWays = 64;

    const Reading& m_reading;
    const Stage0Pipeline& m_of;
    TensorSamples m_samples;
    std::deque<CopyEvidence> m_evidence; ///< by stage
    std::vector<StageChoice> m_choices;
    std::set<StageTensors> m_found;
    size_t m_extra = 0; ///< tied modules that stages use beyond their own layers
    uint64_t m_tries = 0;
    bool m_leftOut = false; ///< some choice was not tried: uniqueness is not proven
};

/// Adds names as DeepSpeed gives them inside a stage.
void addNamed(Stage0Stages& out, uint32_t rank, const Stage0Pipeline& pipeline,
    const std::vector<uint32_t>& tensors, const std::set<uint32_t>& tied)
{
    std::map<uint32_t, uint32_t> layerOfTensor;
    for (uint32_t layer = 0; layer < pipeline.layers.size(); ++layer) {
        for (const uint32_t tensor : pipeline.layers[layer].tensors)
            layerOfTensor[tensor] = layer;
    }
    for (const uint32_t at : tensors) {
        const Stage0Layer& layer = pipeline.layers[layerOfTensor[at]];
        const bool isTied = tied.contains(layer.module);
        const std::string place = isTied
            ? std::string(kTiedPrefix) + inferredTiedKey(pipeline.layers[layer.module].number)
            : std::to_string(layer.number);
        ModuleTensor tensor = pipeline.tensors[at];
        tensor.name = out.names.emplace_back(place + "." + std::string(tensor.name));
        out.ofRank[rank].push_back(std::move(tensor));
    }
}

/// Modules of layers with equal files, and modules that more than one stage uses.
std::set<uint32_t> tiedModules(const Stage0Pipeline& pipeline, const StageTensors& stages)
{
    std::set<uint32_t> out;
    std::map<uint32_t, size_t> uses; ///< of a tensor
    for (const std::vector<uint32_t>& tensors : stages) {
        for (const uint32_t tensor : tensors)
            ++uses[tensor];
    }
    for (uint32_t i = 0; i < pipeline.layers.size(); ++i) {
        const Stage0Layer& layer = pipeline.layers[i];
        if (layer.module != i
            || std::any_of(layer.tensors.begin(), layer.tensors.end(),
                [&](uint32_t tensor) { return uses[tensor] > 1; }))
            out.insert(layer.module);
    }
    return out;
}

} // namespace

Result<std::shared_ptr<const Stage0Stages>> findStage0Stages(Reading& reading, const ParallelDegrees& degrees)
{
    if (!hasTorchOptimizer(reading.out.kind) || !isStage0OfStages(reading))
        return nullptr;
    auto out = std::make_shared<Stage0Stages>();
    out->ofRank.resize(size_t{degrees.tp} * degrees.pp);
    for (uint32_t slice = 0; slice < degrees.tp; ++slice) {
        SHARDSCOPE_TRY(const Stage0Pipeline pipeline, readStage0Pipeline(reading, degrees, slice));
        SHARDSCOPE_TRY(const StageTensors stages, StageSearch(reading, pipeline).run());
        const std::set<uint32_t> tied = tiedModules(pipeline, stages);
        for (uint32_t stage = 0; stage < degrees.pp; ++stage)
            addNamed(*out, stage * degrees.tp + slice, pipeline, stages[stage], tied);
    }
    return std::shared_ptr<const Stage0Stages>(std::move(out));
}

void takeStage0Stage(
    Reading& reading, const Result<std::shared_ptr<const Stage0Stages>>& stages, uint32_t rank)
{
    if (!stages)
        reading.stop(forward(stages.error()));
    if (!stages || *stages == nullptr)
        return;
    reading.ofStage = &(*stages)->ofRank[rank];
    reading.out.evidence.emplace_back(
        "which layers a stage has follows from the parameters of its optimizer");
    std::set<std::string_view> keys;
    for (const ModuleTensor& tensor : *reading.ofStage) {
        const std::string_view key = tiedKeyOf(tensor.name);
        if (!key.empty() && keys.insert(key).second)
            reading.out.evidence.push_back(
                "no file records the key of a tied module; it is shown as `" + std::string(key) + "`");
    }
}

} // namespace shardscope
