// SPDX-License-Identifier: Apache-2.0
#include "core/report/answers/answer.h"

#include "core/report/answers/compute_report.h"

namespace shardscope {

void beginAnswer(JsonWriter& json, std::string_view verb, const AnswerContext& context)
{
    json.beginObject();
    json.field("schema", "shardscope/" + std::string(verb) + "/1");
    json.nameField("path", context.path);
    json.nameField("checkpoint", checkpointFolder(context.checkpoint));
    if (context.checkpoint.tag.empty())
        json.nullField("tag");
    else
        json.nameField("tag", context.checkpoint.tag);
    if (!context.selectedFile.empty())
        json.nameField("selected", context.selectedFile);
}

void writeCompute(JsonWriter& json, const AnswerContext& context)
{
    if (context.compute != nullptr)
        writeCompute(json, reportOf(*context.compute));
}

void endAnswer(JsonWriter& json, const TextSink& sink)
{
    json.endObject();
    json.finish();
    sink("\n");
}

std::string checkpointFolder(const Checkpoint& checkpoint)
{
    return checkpoint.tagFolder.empty() ? checkpoint.runFolder.string() : checkpoint.tagFolder.string();
}

void writeRank(JsonWriter& json, std::string_view field, const RankCoordinate& rank)
{
    json.objectField(field);
    json.field("dp", rank.dp);
    json.field("tp", rank.tp);
    json.field("pp", rank.pp);
    json.endObject();
}

void writeParallel(JsonWriter& json, const ParallelDegrees& parallel)
{
    json.objectField("parallel");
    json.field("dp", parallel.dp);
    json.field("tp", parallel.tp);
    json.field("pp", parallel.pp);
    json.field("ep", parallel.ep);
    json.endObject();
}

void writeShape(JsonWriter& json, std::string_view field, const Shape& shape)
{
    json.arrayField(field);
    for (const uint64_t dimension : shape)
        json.value(dimension);
    json.endArray();
}

void writeFileName(JsonWriter& json, std::string_view field, const Checkpoint& checkpoint, FileId file)
{
    if (file == kNoFile)
        json.nullField(field);
    else
        json.nameField(field, checkpoint.file(file).name);
}

DType stateDtype(const Checkpoint& checkpoint, ParamId param, std::string_view state)
{
    const Parameter& parameter = checkpoint.params[index(param)];
    const ParamId owner = parameter.sharedWith == kNoParam ? param : parameter.sharedWith;
    if (const FlatUnit* unit = checkpoint.unitOf(owner)) {
        for (const UnitState& unitState : unit->states) {
            if (unitState.name == state)
                return unitState.dtype;
        }
    }
    const WholeTensor* whole = checkpoint.wholeOf(owner);
    return whole == nullptr ? DType::Unknown : whole->dtype;
}

DType modelDtype(const Checkpoint& checkpoint, ParamId param)
{
    const Parameter& parameter = checkpoint.params[index(param)];
    const ParamId owner = parameter.sharedWith == kNoParam ? param : parameter.sharedWith;
    if (const WholeTensor* whole = checkpoint.wholeOf(owner))
        return whole->dtype;
    // ZeRO-3 keeps no copy in the model's dtype. The precision of the run gives the dtype of the weights.
    if (checkpoint.params[index(owner)].role == ParamRole::Trainable) {
        if (checkpoint.precision == "bf16")
            return DType::BFloat16;
        if (checkpoint.precision == "fp16")
            return DType::Float16;
    }
    const FlatUnit* unit = checkpoint.unitOf(owner);
    return unit == nullptr || unit->states.empty() ? DType::Unknown : unit->states.front().dtype;
}

} // namespace shardscope
