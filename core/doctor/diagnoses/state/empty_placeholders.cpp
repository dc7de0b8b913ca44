// SPDX-License-Identifier: Apache-2.0
#include "core/base/shell_quote.h"
#include "core/checkpoint/model/checkpoint.h"
#include "core/doctor/finding_sink.h"
#include "core/doctor/weight_files.h"

namespace shardscope::diagnosis {

namespace {

constexpr size_t kMaxNamed = 8;

Status look(const CheckContext& context, FindingSink& sink)
{
    if (!context.hasModel() || hasNoRunFolder(context.checkpoint->kind))
        return {};
    const Checkpoint& checkpoint = *context.checkpoint;
    SHARDSCOPE_TRY(const std::vector<WeightFile> files, weightFilesNextTo(context));
    for (const WeightFile& file : files) {
        size_t count = 0;
        std::vector<std::string> named;
        for (const SafeTensor& tensor : file.tensors) {
            if (tensor.shape != Shape{0} && tensor.shape != Shape{1})
                continue;
            const auto id = paramOfTensor(checkpoint, tensor.name);
            if (!id || checkpoint.params[index(*id)].elements < 2)
                continue;
            const Parameter& param = checkpoint.params[index(*id)];
            if (++count <= kMaxNamed)
                named.push_back("\"" + tensor.name + "\" has the shape " + shapeText(tensor.shape)
                    + ", the parameter has " + shapeText(param.shape));
        }
        if (count > 0)
            sink.add(Severity::Error,
                std::to_string(count) + " of " + std::to_string(file.tensors.size())
                    + " tensors are empty placeholders of ZeRO-3, without weights",
                file.name, std::move(named));
    }
    return {};
}

std::string exportCommand(const CheckContext& context, const Finding& finding)
{
    return "export " + shellQuoted(context.asked.string()) + " DST --format "
        + (finding.where.file().ends_with(".bin") ? "torch" : "safetensors");
}

} // namespace

/// Weights that were saved while ZeRO-3 had them partitioned.
extern const Diagnosis kEmptyPlaceholders;
const Diagnosis kEmptyPlaceholders{
    .code = "empty-placeholders",
    .letter = "S11",
    .name = "Weights next to the checkpoint are placeholders",
    .depth = CheckDepth::Metadata,
    .worst = Severity::Error,
    .means = {.loading = "DeepSpeed's own files are complete and load.",
        .resuming = "Wrappers that take the weights from this file stop at a size mismatch.",
        .exporting = "The file has no weights; they are in the optimizer shards."},
    .remedy = "export the weights again from the shards",
    .command = exportCommand,
    .threads = "HF#20082, OpenRLHF/OpenRLHF#839, DS#1394, HF#10789",
    .look = look,
};

} // namespace shardscope::diagnosis
