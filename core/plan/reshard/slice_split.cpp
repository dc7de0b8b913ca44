// SPDX-License-Identifier: Apache-2.0
#include "core/plan/reshard/slice_split.h"

#include "core/base/finding_codes.h"
#include "core/base/text.h"
#include "core/checkpoint/model/muon.h"
#include "core/layout/slices/split_slices.h"
#include "core/plan/target/expert_degree.h"

#include <algorithm>

namespace shardscope {

namespace {

bool hasLayerFiles(const Checkpoint& source)
{
    return std::any_of(source.files.begin(), source.files.end(),
        [](const CheckpointFile& file) { return file.role == FileRole::LayerStates; });
}

} // namespace

bool splitsSlices(const Checkpoint& source, const ReshardOptions& options)
{
    if (options.form != TargetForm::Native)
        return false;
    const uint32_t slices = options.tp.value_or(source.parallel.tp);
    return (slices > 1 && slices != source.parallel.tp) || options.paddedVocabulary;
}

Status checkSplit(const Checkpoint& source, const ReshardOptions& options)
{
    const uint32_t slices = options.tp.value_or(source.parallel.tp);
    const std::string where = source.tagFolder.string();
    const auto unsupported = [&](const std::string& what, const Hint& hint) {
        return fail(ErrorCode::Unsupported, what, where, hint);
    };
    if (slices == 0 || options.worldSize % slices != 0)
        return fail(ErrorCode::Usage,
            std::to_string(options.worldSize) + " ranks do not divide by " + std::to_string(slices)
                + " tensor slices",
            where);
    if (source.parallel.pp > 1 || hasLayerFiles(source))
        return unsupported("this build does not split the tensors of pipeline stages into other slices",
            Hint::omit("--tp")
                + "; a universal folder (`convert`) is read by any number of slices and stages");
    if (source.parallel.ep > 1 || hasExperts(source))
        return unsupported(
            "this build does not split tensors of models with experts into slices", Hint::omit("--tp"));
    if (isConverted(source.kind))
        return unsupported("this build splits only ZeRO checkpoints into tensor slices, not universal "
                           "folders or distributed checkpoints",
            "a universal folder is read by any number of slices as it is");
    if (!isSharded(source.kind) || (options.stage && *options.stage == 0))
        return unsupported(
            "this build splits tensors into slices only under ZeRO-1, 2 and 3", Hint::omit("--tp"));
    if (source.zenflow)
        return unsupported("this build does not split the columns of ZenFlow's matrices into slices",
            "rewrite it with --row-major first, and split the result");
    if (muonMomentumOf(source) != nullptr)
        return unsupported("this build does not split the momentum of Muon, which works on whole matrices",
            Hint::omit("--tp"));
    return {};
}

Status splitForPlan(const CheckpointPtr& source, const std::optional<SliceRules>& given,
    const ReshardOptions& options, SliceMerge& merge)
{
    std::optional<SliceRules> recorded;
    if (!given) {
        SHARDSCOPE_TRY(recorded, recordedRules(*source));
        if (!recorded)
            return fail(ErrorCode::Unsupported,
                "the checkpoint records where its slices are, but no patterns to split others by",
                source->tagFolder.string(), "give them in a file with --patterns");
    }
    const uint32_t slices = options.tp.value_or(source->parallel.tp);
    std::vector<std::string> unnamed;
    for (uint32_t i = 0; source->parts.empty() && i < merge.source->params.size(); ++i) {
        if (!merge.source->merged->unnamed[i].empty())
            unnamed.push_back(merge.source->params[i].name);
    }
    if (!unnamed.empty() && slices > 1)
        merge.warnings.push_back({code::kStockLoaderTrap, Severity::Warning,
            "no pattern names these parameters; they are split along their first dimension, as DeepSpeed's "
            "loader does: "
                + nameList(unnamed),
            {}, {}});
    const SliceSplit cut{slices, options.paddedVocabulary, !given};
    SHARDSCOPE_TRY(merge.source, splitSlices(merge.source, given ? *given : *recorded, cut));
    const bool buffers = std::any_of(merge.source->params.begin(), merge.source->params.end(),
        [](const Parameter& param) { return param.role == ParamRole::Buffer; });
    if (buffers)
        merge.warnings.push_back({code::kStockLoaderTrap, Severity::Info,
            "buffers of the model are copied to every slice unchanged", {}, {}});
    return {};
}

} // namespace shardscope
