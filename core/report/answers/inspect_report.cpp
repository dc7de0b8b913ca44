// SPDX-License-Identifier: Apache-2.0
#include "core/report/answers/inspect_report.h"

#include "core/checkpoint/folder/skeleton.h"
#include "core/layout/counts.h"
#include "core/report/answers/finding_report.h"
#include "core/report/json/pickle_json.h"

namespace shardscope {

void describe(auto& out, const FileCounts& files)
{
    out.is("FileCounts", "Number and bytes of the files that belong to the checkpoint.");
    out.field("count", files.count);
    out.field("bytes", files.bytes);
}

void describe(auto& out, const ParameterCounts& counts)
{
    out.is("ParameterCounts", "Numbers of parameters; `elements` counts elements.");
    out.field("count", counts.count);
    out.field("elements", counts.elements);
    out.field("trainable", counts.trainable);
    out.field("frozen", counts.frozen);
    out.field("unrecorded", counts.unrecorded, "parameters; no file records whether they were trained");
    out.field("shared", counts.shared);
    out.field("buffers", counts.buffers);
}

namespace {

void writeOptimizerSteps(JsonWriter& json, const std::vector<std::optional<double>>& steps)
{
    json.beginArray();
    for (const auto& step : steps) {
        // Steps are counts; some optimizers keep them as floats.
        if (step && *step >= 0 && *step <= 9e15 && *step == static_cast<double>(static_cast<int64_t>(*step)))
            json.value(static_cast<int64_t>(*step));
        else
            json.value(step);
    }
    json.endArray();
}

void describeSteps(auto& out, const Checkpoint& checkpoint)
{
    out.is("StepCounters", "Counters of the run; `optimizer` has one step per param group.");
    out.field("global_steps", checkpoint.steps.globalSteps);
    out.field("global_samples", checkpoint.steps.globalSamples);
    out.field("skipped_steps", checkpoint.steps.skippedSteps);
    out.free("optimizer", As<std::vector<std::optional<double>>>{},
        [&](JsonWriter& json) { writeOptimizerSteps(json, optimizerSteps(checkpoint)); });
}

void describeGroups(auto& out, const Checkpoint& checkpoint)
{
    const TorchFile* rank0 = checkpoint.templateOptim == kNoFile
        ? nullptr
        : checkpoint.file(checkpoint.templateOptim).content.get();
    out.list("param_groups", checkpoint.groups, [&](auto& each, const ParamGroup& group) {
        each.is("ParamGroup", "One param group of the optimizer with its options.");
        each.field("index", group.index);
        each.field("parameters", group.parameters);
        each.field("elements", group.elements);
        each.free(
            "options", As<AnyObject>{},
            [&](JsonWriter& json) {
                json.beginObject();
                if (rank0 != nullptr && group.options != kNoNode)
                    writeMappingFields(json, rank0->pickle(), group.options, "params");
                json.endObject();
            },
            "the optimizer's own keys");
    });
}

void describeInspect(auto& out, const AnswerContext& context)
{
    const Checkpoint& checkpoint = context.checkpoint;
    out.answer("inspect", "InspectAnswer", "What a checkpoint is.");
    describeSubject(out, context);
    out.field("tags", checkpoint.tags);
    out.field("latest", checkpoint.latest);
    out.field("supported", checkpoint.supported);
    out.textOrNull("why_not", checkpoint.whyNot);
    out.word("kind", kindName(checkpoint.kind), kKindWords);
    out.field("zero_stage", checkpoint.zeroStage, between(0, 3));
    out.field("parallel", checkpoint.parallel);
    out.textOrNull("precision", checkpoint.precision);
    out.textOrNull("optimizer", checkpoint.optimizer);
    out.object("versions", [&](auto& versions) {
        versions.is("Versions", "Versions that the files record.");
        versions.textOrNull("deepspeed", checkpoint.deepspeedVersion);
        versions.maybe(false, [&] { versions.textOrNull("format", ""); });
    });
    out.object("step", [&](auto& steps) { describeSteps(steps, checkpoint); });
    out.field("parameters", countParameters(checkpoint));
    out.field("states", checkpoint.stateNames());
    describeGroups(out, checkpoint);
    out.maybe(checkpoint.zeroStage == 3,
        [&] { out.field("sub_group_size", checkpoint.subGroupSize, "ZeRO-3 only"); });
    out.field("loss_scale", checkpoint.lossScale);
    out.field("client_state", checkpoint.clientStateKeys);
    out.field("files", countFiles(checkpoint));
    out.wordOrNull("wrapper", checkpoint.wrapper, {"transformers", "accelerate", "lightning", "megatron"});
    out.field("complete", checkpoint.complete, "every rank's file exists and matches");
    out.field(
        "skeleton", isSkeleton(checkpoint), "a skeleton: structure without values, made for a bug report");
    out.field("evidence", checkpoint.evidence);
    out.field("findings", checkpoint.findings);
}

} // namespace

void writeInspectJson(const TextSink& sink, const AnswerContext& context)
{
    writeObject(sink, [&](JsonOut& out) { describeInspect(out, context); });
}

std::string inspectSchema()
{
    return schemaOf("inspect", [](SchemaOut& out) { describeInspect(out, schemaContext()); });
}

} // namespace shardscope
