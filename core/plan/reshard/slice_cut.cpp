// SPDX-License-Identifier: Apache-2.0
#include "core/plan/reshard/slice_cut.h"

#include "core/base/finding_codes.h"
#include "core/base/text.h"
#include "core/checkpoint/model/muon.h"
#include "core/checkpoint/slices/split_slices.h"
#include "core/plan/target/expert_degree.h"

#include <algorithm>

namespace shardscope {

namespace {

bool hasMuon(const Checkpoint& source)
{
    return std::any_of(source.units.begin(), source.units.end(), [](const FlatUnit& unit) {
        return std::any_of(unit.states.begin(), unit.states.end(),
            [](const UnitState& state) { return state.name == kMuonMomentum; });
    });
}

bool hasLayerFiles(const Checkpoint& source)
{
    return std::any_of(source.files.begin(), source.files.end(),
        [](const CheckpointFile& file) { return file.role == FileRole::LayerStates; });
}

} // namespace

bool cutsSlices(const Checkpoint& source, const ReshardOptions& options)
{
    if (options.form != TargetForm::Native)
        return false;
    const uint32_t slices = options.tp.value_or(source.parallel.tp);
    return (slices > 1 && slices != source.parallel.tp) || options.paddedVocabulary;
}

Status checkCut(const Checkpoint& source, const ReshardOptions& options)
{
    const uint32_t slices = options.tp.value_or(source.parallel.tp);
    const std::string where = source.tagFolder.string();
    const auto unsupported = [&](const std::string& what, const std::string& hint) {
        return fail(ErrorCode::Unsupported, what, where, hint);
    };
    if (slices == 0 || options.worldSize % slices != 0)
        return fail(ErrorCode::Usage,
            std::to_string(options.worldSize) + " ranks do not divide by " + std::to_string(slices)
                + " tensor slices",
            where);
    if (source.parallel.pp > 1 || hasLayerFiles(source))
        return unsupported("this build does not cut the tensors of pipeline stages into other slices",
            "leave --tp out; a universal folder (`convert`) is read by any number of slices and stages");
    if (source.parallel.ep > 1 || hasExperts(source))
        return unsupported(
            "this build does not cut tensors into slices where there are experts", "leave --tp out");
    if (isConverted(source.kind))
        return unsupported(
            "this build cuts ZeRO checkpoints into tensor slices, and no universal folder or distributed "
            "checkpoint",
            "a universal folder is read by any number of slices as it is");
    if (!isSharded(source.kind) || (options.stage && *options.stage == 0))
        return unsupported(
            "this build cuts tensors into slices under ZeRO-1, 2 and 3 only", "leave --tp out");
    if (source.zenflow)
        return unsupported("this build does not cut the columns of ZenFlow's matrices into slices",
            "rewrite it with --row-major first, and cut that");
    if (hasMuon(source))
        return unsupported(
            "this build does not cut the momentum of Muon, which works on whole matrices", "leave --tp out");
    return {};
}

Status cutForPlan(const CheckpointPtr& source, const std::optional<SliceRules>& given,
    const ReshardOptions& options, SliceJoin& join)
{
    std::optional<SliceRules> recorded;
    if (!given) {
        SHARDSCOPE_TRY(recorded, recordedRules(*source));
        if (!recorded)
            return fail(ErrorCode::Unsupported,
                "the checkpoint records where its slices lie, and no patterns by which others are cut",
                source->tagFolder.string(), "give them in a file with --patterns");
    }
    const uint32_t slices = options.tp.value_or(source->parallel.tp);
    std::vector<std::string> unnamed;
    for (uint32_t i = 0; source->parts.empty() && i < join.source->params.size(); ++i) {
        if (!join.source->merged->unnamed[i].empty())
            unnamed.push_back(join.source->params[i].name);
    }
    if (!unnamed.empty() && slices > 1)
        join.warnings.push_back({code::kStockLoaderTrap, Severity::Warning,
            "no pattern names these parameters; they are cut along their first dimension, as DeepSpeed's "
            "loader "
            "does: "
                + nameList(unnamed),
            {}, {}});
    const SliceSplit cut{slices, options.paddedVocabulary, !given};
    SHARDSCOPE_TRY(join.source, splitSlices(join.source, given ? *given : *recorded, cut));
    const bool buffers = std::any_of(join.source->params.begin(), join.source->params.end(),
        [](const Parameter& param) { return param.role == ParamRole::Buffer; });
    if (buffers)
        join.warnings.push_back({code::kStockLoaderTrap, Severity::Info,
            "buffers of the model go to every slice as they are", {}, {}});
    return {};
}

} // namespace shardscope
