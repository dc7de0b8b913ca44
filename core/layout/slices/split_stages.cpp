// SPDX-License-Identifier: Apache-2.0
#include "core/layout/slices/split_stages.h"

#include "core/base/text.h"
#include "core/checkpoint/model/file_names.h"
#include "core/checkpoint/model/layer_names.h"
#include "core/checkpoint/model/merged_parts.h"
#include "core/torchfile/pickle/pickle_values.h"

#include <algorithm>
#include <set>

namespace shardscope {

namespace {

class StageSplitter
{
public:
    StageSplitter(const CheckpointPtr& merged, const StageSplit& split)
        : m_whole(merged)
        , m_split(split)
    {
    }

    Result<CheckpointPtr> run()
    {
        SHARDSCOPE_CHECK(place());
        SHARDSCOPE_CHECK(checkTied());
        SHARDSCOPE_CHECK(placeFiles());
        auto out = emptyMerged(*m_whole);
        out->merged.reset();
        out->parallel.pp = m_split.stages();
        for (uint32_t stage = 0; stage < m_split.stages(); ++stage) {
            SHARDSCOPE_TRY(auto made, part(stage));
            out->parts.push_back(std::move(made));
        }
        addModelsOfParts(*out);
        return CheckpointPtr(std::move(out));
    }

private:
    [[nodiscard]] tl::unexpected<Error> fails(ErrorCode code, std::string what, std::string hint = {}) const
    {
        return fail(code, std::move(what), m_whole->tagFolder.string(), std::move(hint));
    }
    [[nodiscard]] std::string shown(uint32_t param) const
    {
        return "`" + toValidUtf8(m_whole->params[param].name) + "`";
    }

    /// Finds the layers of every parameter: its own layer, or all layers that use its tied module.
    Status place()
    {
        for (uint32_t i = 0; i < m_whole->params.size(); ++i) {
            const std::string& name = m_whole->params[i].name;
            m_layers.emplace_back();
            if (const auto layer = layerOf(name)) {
                if (*layer >= m_split.bounds.back())
                    return fails(ErrorCode::Usage,
                        shown(i) + " is of layer " + std::to_string(*layer)
                            + ", and the stages end with layer " + std::to_string(m_split.bounds.back() - 1));
                m_layers.back() = {*layer};
                m_ownLayers.insert(*layer);
                continue;
            }
            const std::string_view key = tiedKeyOf(name);
            if (key.empty())
                return fails(ErrorCode::Refused,
                    shown(i)
                        + " does not belong to a layer of a PipelineModule, so its stage cannot be "
                          "determined");
            const auto found = m_split.tied.find(key);
            if (found == m_split.tied.end())
                return fails(ErrorCode::Refused,
                    "several layers share the module of " + shown(i) + ", and no file names them all",
                    "name them with --pp-tied " + std::string(key)
                        + "=LAYER,LAYER…, counted as the run's PipelineModule counts its layers");
            m_layers.back() = found->second;
            m_tiedNames[std::string(key)].insert(std::string(insideTied(name)));
        }
        return {};
    }

    Status checkTied() const
    {
        for (const auto& [key, layers] : m_split.tied) {
            if (!m_tiedNames.contains(key))
                return fails(
                    ErrorCode::Usage, "the checkpoint has no tied module `" + toValidUtf8(key) + "`");
            for (const uint32_t layer : layers) {
                const std::string what = "layer " + std::to_string(layer);
                if (layer >= m_split.bounds.back())
                    return fails(ErrorCode::Usage,
                        what + " is named as a user of `" + toValidUtf8(key)
                            + "`, but the stages end before it");
                if (m_ownLayers.contains(layer))
                    return fails(ErrorCode::Usage,
                        what + " is named as a user of `" + toValidUtf8(key)
                            + "`, but it has parameters of its own");
            }
        }
        return {};
    }

    /// Names of the tensors in a layer's file. Nothing if the file is not readable.
    [[nodiscard]] std::optional<std::set<std::string>> namesIn(const CheckpointFile& file) const
    {
        if (!file.content)
            return std::nullopt;
        const PickleGraph& graph = file.content->pickle();
        const auto items = mappingItems(graph, graph.root());
        std::set<std::string> out;
        for (size_t i = 0; i + 1 < items.size(); i += 2) {
            if (const auto key = asString(graph, items[i]))
                out.emplace(*key);
        }
        return out;
    }

    /// The file of a layer without parameters of its own must be empty, or hold all of a tied module that the
    /// layer uses.
    Status checkFile(const CheckpointFile& file, uint32_t layer) const
    {
        const auto names = namesIn(file);
        if (!names || m_ownLayers.contains(layer))
            return {};
        std::string looksLike;
        for (const auto& [key, layers] : m_split.tied) {
            const bool named = std::find(layers.begin(), layers.end(), layer) != layers.end();
            const bool same = *names == m_tiedNames.at(key);
            if (named && !same)
                return fails(ErrorCode::Usage,
                    "layer " + std::to_string(layer) + " is named as a user of `" + toValidUtf8(key)
                        + "`, and `" + file.name + "` contains another module");
            if (named)
                return {};
            if (same && !names->empty())
                looksLike = key;
        }
        if (!looksLike.empty())
            return fails(ErrorCode::Usage,
                "`" + file.name + "` holds the tied module `" + toValidUtf8(looksLike) + "`, and layer "
                    + std::to_string(layer) + " is not named as a user of it",
                "name it with --pp-tied, too");
        return {};
    }

    Status placeFiles()
    {
        m_files = m_whole->files;
        for (CheckpointFile& file : m_files) {
            const auto parsed = parseCheckpointFileName(file.name);
            if (file.role != FileRole::LayerStates || file.status == FileStatus::Stale || !parsed
                || !parsed->layer)
                continue;
            if (*parsed->layer >= m_split.bounds.back())
                return fails(ErrorCode::Usage,
                    "`" + file.name + "` is there, and the stages end with layer "
                        + std::to_string(m_split.bounds.back() - 1));
            SHARDSCOPE_CHECK(checkFile(file, *parsed->layer));
            file.rank = RankCoordinate{0, 0, m_split.stageOf(*parsed->layer)};
        }
        return {};
    }

    /// The first layer of a stage that uses the parameter. Nothing if no layer does.
    [[nodiscard]] std::optional<uint32_t> firstUse(uint32_t param, uint32_t stage) const
    {
        std::optional<uint32_t> out;
        for (const uint32_t layer : m_layers[param]) {
            if (m_split.stageOf(layer) == stage)
                out = std::min(out.value_or(layer), layer);
        }
        return out;
    }

    [[nodiscard]] const Checkpoint& modelOf(uint32_t stage) const
    {
        const auto& parts = m_whole->merged->of->parts;
        return parts.empty() ? *m_whole->merged->of : *parts[stage * parts.size() / m_split.stages()];
    }

    Result<CheckpointPtr> part(uint32_t stage) const
    {
        auto out = emptyMerged(*m_whole);
        out->parallel.pp = m_split.stages();
        out->place = {0, 0, stage};
        out->modelRank = stage;
        out->templateModel = modelOf(stage).templateModel;
        out->modelFiles = {out->templateModel};
        out->files = m_files;
        auto pieces = std::make_shared<MergedSlices>();
        pieces->of = m_whole;
        pieces->isStage = true;
        std::vector<ParamId> inPart(m_whole->params.size(), kNoParam);
        for (uint32_t i = 0; i < m_whole->params.size(); ++i) {
            if (firstUse(i, stage)) {
                inPart[i] = ParamId{static_cast<uint32_t>(out->params.size())};
                addParam(ParamId{i}, *out, *pieces);
            }
        }
        for (Parameter& alias : out->params) {
            if (alias.sharedWith == kNoParam)
                continue;
            alias.sharedWith = inPart[index(alias.sharedWith)];
            if (alias.sharedWith == kNoParam)
                return fails(ErrorCode::Refused,
                    "`" + toValidUtf8(alias.name) + "` shares its weight with a parameter of another stage");
        }
        out->merged = std::move(pieces);
        SHARDSCOPE_TRY(const auto order, orderOn(stage, inPart));
        SHARDSCOPE_CHECK(addMergedUnits(*m_whole, order, *out));
        return CheckpointPtr(std::move(out));
    }

    void addParam(ParamId id, Checkpoint& out, MergedSlices& pieces) const
    {
        Parameter param = m_whole->params[index(id)];
        const ParamId made{static_cast<uint32_t>(out.params.size())};
        param.unit = kNoUnit;
        pieces.pieces.emplace_back();
        pieces.tied.emplace_back();
        if (!m_whole->merged->pieces[index(id)].empty())
            pieces.pieces.back().push_back({id, 0, param.elements, 0, param.elements, param.elements, 1});
        const WholeTensor* copy = m_whole->wholeOf(id);
        if (copy != nullptr && out.file(copy->run.file).rank == out.place) {
            out.whole.push_back(*copy);
            out.whole.back().param = made;
        }
        out.paramByName.emplace(param.name, made);
        out.params.push_back(std::move(param));
    }

    /// Parameters of each group in the order of the run's optimizer on a stage: tied modules come first.
    [[nodiscard]] Result<std::vector<std::vector<ParamId>>> orderOn(
        uint32_t stage, const std::vector<ParamId>& inPart) const
    {
        std::vector<std::vector<ParamId>> out;
        for (const ParamGroup& group : m_whole->groups) {
            std::vector<uint32_t> params;
            for (const UnitId unit : group.units) {
                for (const ParamId id : m_whole->units[index(unit)].params) {
                    if (inPart[index(id)] != kNoParam)
                        params.push_back(index(id));
                }
            }
            if (params.empty())
                return fails(ErrorCode::Refused,
                    "stage " + std::to_string(stage) + " would have no parameter of param group "
                        + std::to_string(group.index)
                        + ", and it is not known whether a run has the group there",
                    "choose other layers for the stages; a universal folder (`convert`) is read by any "
                    "number of stages");
            const auto tied = std::stable_partition(params.begin(), params.end(),
                [&](uint32_t param) { return !tiedKeyOf(m_whole->params[param].name).empty(); });
            std::stable_sort(params.begin(), tied,
                [&](uint32_t a, uint32_t b) { return *firstUse(a, stage) < *firstUse(b, stage); });
            out.emplace_back();
            for (const uint32_t param : params)
                out.back().push_back(inPart[param]);
        }
        return out;
    }

    CheckpointPtr m_whole;
    const StageSplit& m_split;
    std::vector<std::vector<uint32_t>> m_layers; ///< by parameter
    std::set<uint32_t> m_ownLayers; ///< layers with their own parameters
    std::map<std::string, std::set<std::string>, std::less<>> m_tiedNames; ///< by key: names in the module
    std::vector<CheckpointFile> m_files; ///< of the source; layers' files have the target's places
};

} // namespace

uint32_t StageSplit::stageOf(uint32_t layer) const
{
    const auto next = std::upper_bound(bounds.begin(), bounds.end(), layer);
    return static_cast<uint32_t>(next - bounds.begin()) - 1;
}

Result<CheckpointPtr> splitStages(const CheckpointPtr& merged, const StageSplit& split)
{
    return StageSplitter(merged, split).run();
}

} // namespace shardscope
