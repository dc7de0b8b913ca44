// SPDX-License-Identifier: Apache-2.0
#include "core/base/shell_quote.h"
#include "core/checkpoint/slices/merged_slices.h"
#include "core/doctor/finding_sink.h"
#include "core/doctor/weight_files.h"

namespace shardscope::diagnosis {

namespace {

constexpr size_t kMaxNamed = 8;

Status look(const CheckContext& context, FindingSink& sink)
{
    if (!context.hasModel() || context.checkpoint->parallel.tp < 2)
        return {};
    SHARDSCOPE_TRY(const std::vector<WeightFile> files, weightFilesNextTo(context));
    if (files.empty())
        return {};
    // Without merge rules for the slices, the merged shapes are unknown.
    const auto merged = mergeSlicesAndStages(context.checkpoint);
    if (!merged)
        return {};
    const Checkpoint& whole = **merged;
    for (const WeightFile& file : files) {
        size_t count = 0;
        std::vector<std::string> named;
        for (const SafeTensor& tensor : file.tensors) {
            const auto id = paramOfTensor(whole, tensor.name);
            if (!id)
                continue;
            const Parameter& param = whole.params[index(*id)];
            if (tensor.elements * context.checkpoint->parallel.tp != param.elements
                || tensor.shape.size() != param.shape.size())
                continue;
            if (++count <= kMaxNamed)
                named.push_back("\"" + tensor.name + "\" has the shape " + shapeText(tensor.shape)
                    + ", all slices together have " + shapeText(param.shape));
        }
        if (count > 0)
            sink.add(Severity::Error,
                std::to_string(count) + " of " + std::to_string(file.tensors.size())
                    + " tensors are one tensor slice of " + std::to_string(context.checkpoint->parallel.tp)
                    + ", not merged tensors",
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

/// Exported weights contain only the slice of the first tensor-parallel rank.
extern const Diagnosis kTensorParallelDropped;
const Diagnosis kTensorParallelDropped{
    .code = "tensor-parallel-dropped",
    .letter = "S14",
    .name = "Exported weights are one slice",
    .depth = CheckDepth::Metadata,
    .worst = Severity::Error,
    .means = {.loading = "DeepSpeed's own files are complete and load.",
        .resuming
        = "Wrappers that take the weights from this file stop at a size mismatch, or build a smaller model.",
        .exporting = "All slices except one are missing in the file."},
    .remedy = "export the weights again, with all slices merged",
    .command = exportCommand,
    .threads = "DS#8168, DS#8185, DS#8474, DS#7320, MDS#224",
    .look = look,
};

} // namespace shardscope::diagnosis
