// SPDX-License-Identifier: Apache-2.0
#include "core/report/answers/inspect_report.h"

#include "core/checkpoint/folder/skeleton.h"
#include "core/layout/counts.h"
#include "core/report/answers/finding_report.h"
#include "core/report/json/pickle_json.h"

namespace shardscope {

namespace {

void writeStep(JsonWriter& json, const Checkpoint& checkpoint)
{
    json.objectField("step");
    json.field("global_steps", checkpoint.steps.globalSteps);
    json.field("global_samples", checkpoint.steps.globalSamples);
    json.field("skipped_steps", checkpoint.steps.skippedSteps);
    json.arrayField("optimizer");
    for (const auto& step : optimizerSteps(checkpoint)) {
        // Steps are counts; some optimizers keep them as floats.
        if (step && *step >= 0 && *step <= 9e15 && *step == static_cast<double>(static_cast<int64_t>(*step)))
            json.value(static_cast<int64_t>(*step));
        else
            json.value(step);
    }
    json.endArray();
    json.endObject();
}

void writeGroups(JsonWriter& json, const Checkpoint& checkpoint)
{
    const TorchFile* rank0 = checkpoint.templateOptim == kNoFile
        ? nullptr
        : checkpoint.file(checkpoint.templateOptim).content.get();
    json.arrayField("param_groups");
    for (const ParamGroup& group : checkpoint.groups) {
        json.beginObject();
        json.field("index", group.index);
        json.field("parameters", group.parameters);
        json.field("elements", group.elements);
        json.objectField("options");
        if (rank0 != nullptr && group.options != kNoNode)
            writeMappingFields(json, rank0->pickle(), group.options, "params");
        json.endObject();
        json.endObject();
    }
    json.endArray();
}

void writeCounts(JsonWriter& json, const Checkpoint& checkpoint)
{
    const ParameterCounts counts = countParameters(checkpoint);
    json.objectField("parameters");
    json.field("count", counts.count);
    json.field("elements", counts.elements);
    json.field("trainable", counts.trainable);
    json.field("frozen", counts.frozen);
    json.field("shared", counts.shared);
    json.field("buffers", counts.buffers);
    json.endObject();
}

} // namespace

void writeInspectJson(const TextSink& sink, const AnswerContext& context)
{
    const Checkpoint& checkpoint = context.checkpoint;
    JsonWriter json(sink);
    beginAnswer(json, "inspect", context);
    json.textList("tags", checkpoint.tags);
    json.field("latest", checkpoint.latest);
    json.field("supported", checkpoint.supported);
    json.textOrNull("why_not", checkpoint.whyNot);
    json.field("kind", kindName(checkpoint.kind));
    json.field("zero_stage", checkpoint.zeroStage);
    writeParallel(json, checkpoint.parallel);
    json.textOrNull("precision", checkpoint.precision);
    json.textOrNull("optimizer", checkpoint.optimizer);
    json.objectField("versions");
    json.textOrNull("deepspeed", checkpoint.deepspeedVersion);
    json.endObject();
    writeStep(json, checkpoint);
    writeCounts(json, checkpoint);
    json.textList("states", checkpoint.stateNames());
    writeGroups(json, checkpoint);
    if (checkpoint.zeroStage == 3)
        json.field("sub_group_size", checkpoint.subGroupSize);
    json.field("loss_scale", checkpoint.lossScale);
    json.textList("client_state", checkpoint.clientStateKeys);
    const FileCounts files = countFiles(checkpoint);
    json.objectField("files");
    json.field("count", files.count);
    json.field("bytes", files.bytes);
    json.endObject();
    json.textOrNull("wrapper", checkpoint.wrapper);
    json.field("complete", checkpoint.complete);
    json.field("skeleton", isSkeleton(checkpoint));
    json.textList("evidence", checkpoint.evidence);
    writeFindings(json, "findings", checkpoint.findings);
    endAnswer(json, sink);
}

} // namespace shardscope
