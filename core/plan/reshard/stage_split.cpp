// SPDX-License-Identifier: Apache-2.0
#include "core/plan/reshard/stage_split.h"

#include "core/base/text_cursor.h"
#include "core/checkpoint/model/fused_experts.h"
#include "core/checkpoint/model/muon.h"
#include "core/layout/slices/split_stages.h"
#include "core/plan/target/expert_degree.h"

#include <algorithm>

namespace shardscope {

namespace {

constexpr uint32_t kMaxLayers = 1'000'000;

bool isPipeline(const Checkpoint& source)
{
    return std::any_of(source.files.begin(), source.files.end(), [](const CheckpointFile& file) {
        return file.role == FileRole::LayerStates && file.status != FileStatus::Stale;
    });
}

/// "embed=0,6"
Result<std::pair<std::string, std::vector<uint32_t>>> tiedLayers(const std::string& text)
{
    const size_t equals = text.rfind('=');
    std::vector<uint32_t> layers;
    TextCursor cursor(
        equals == std::string::npos ? std::string_view() : std::string_view(text).substr(equals + 1));
    uint32_t layer = 0;
    bool isWhole = equals != std::string::npos && equals > 0;
    do {
        isWhole = isWhole && cursor.takeNumber(layer);
        layers.push_back(layer);
    } while (isWhole && cursor.takeText(","));
    if (!isWhole || !cursor.rest().empty())
        return fail(ErrorCode::Usage, "`" + text + "` names no layers of a tied module", {},
            "write KEY=LAYER,LAYER… with the key of its TiedLayerSpec, as in embed=0,6");
    return std::pair(text.substr(0, equals), std::move(layers));
}

Status checkBounds(const Checkpoint& source, const ReshardOptions& options)
{
    const std::vector<uint32_t>& bounds = options.stageLayers;
    const std::string where = source.tagFolder.string();
    if (bounds.empty())
        return fail(ErrorCode::Refused,
            "it is not recorded which layers each of " + std::to_string(*options.pp)
                + " stages has: this depends on how the run's PipelineModule partitions them",
            where,
            "give them with --pp-layers: the first layer of every stage and the number of all layers, as "
            "`module.parts` of the run has them (for 7 layers in two stages 0,4,7); a universal folder "
            "(`convert`) is read by any number of stages");
    if (bounds.size() == 2)
        return fail(ErrorCode::Usage, "one stage has all layers", where, "omit --pp-layers, and give --pp 1");
    const bool ascends = bounds.size() > 2 && bounds.front() == 0
        && std::adjacent_find(bounds.begin(), bounds.end(), std::greater_equal<>()) == bounds.end();
    if (!ascends || bounds.back() > kMaxLayers)
        return fail(ErrorCode::Usage,
            "the layers of stages must begin with 0 and ascend, and end with the number of all layers");
    const uint64_t stages = bounds.size() - 1;
    if (options.pp && *options.pp != stages)
        return fail(ErrorCode::Usage,
            std::to_string(*options.pp) + " stages are requested, but layers of " + std::to_string(stages)
                + " are given");
    if (options.worldSize % stages != 0)
        return fail(ErrorCode::Usage,
            std::to_string(options.worldSize) + " ranks do not divide by " + std::to_string(stages)
                + " pipeline stages",
            where);
    return {};
}

} // namespace

bool splitsStages(const Checkpoint& source, const ReshardOptions& options)
{
    return options.form == TargetForm::Native
        && (!options.stageLayers.empty() || (options.pp.value_or(1) > 1 && options.pp != source.parallel.pp));
}

Status checkStageSplit(const Checkpoint& source, const ReshardOptions& options)
{
    const auto unsupported = [&](const char* what) {
        return fail(ErrorCode::Unsupported, what, source.tagFolder.string(),
            "omit --pp and --pp-layers; a universal folder is read by any number of stages");
    };
    if (isConverted(source.kind) || !isPipeline(source))
        return unsupported("layers are distributed to pipeline stages only if a PipelineModule saved them, "
                           "but the checkpoint has no layer files");
    if (source.parallel.tp > 1 || options.tp.value_or(1) > 1)
        return unsupported("this build does not repartition the layers of tensor slices to other stages");
    if (source.parallel.ep > 1 || hasExperts(source) || !FusedExperts::of(source).isEmpty())
        return unsupported("this build does not repartition layers with experts to other stages");
    if (muonMomentumOf(source) != nullptr)
        return unsupported(
            "this build does not repartition layers with the momentum of Muon to other stages");
    return checkBounds(source, options);
}

Status splitStagesForPlan(const ReshardOptions& options, SliceMerge& merge)
{
    StageSplit cut{options.stageLayers, {}};
    for (const std::string& text : options.tiedLayers) {
        SHARDSCOPE_TRY(auto tied, tiedLayers(text));
        if (!cut.tied.emplace(std::move(tied)).second)
            return fail(ErrorCode::Usage, "`" + text + "`: the layers of that module are named twice");
    }
    SHARDSCOPE_TRY(merge.source, splitStages(merge.source, cut));
    return {};
}

} // namespace shardscope
