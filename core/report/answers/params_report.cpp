// SPDX-License-Identifier: Apache-2.0
#include "core/report/answers/params_report.h"

#include "core/base/text.h"
#include "core/layout/fragments.h"
#include "core/report/answers/finding_report.h"

namespace shardscope {

namespace {

void writeParameter(JsonWriter& json, const Checkpoint& checkpoint, ParamId id)
{
    const Parameter& parameter = checkpoint.params[index(id)];
    json.beginObject();
    json.nameField("name", parameter.name);
    writeShape(json, "shape", parameter.shape);
    json.field("dtype", dtypeName(modelDtype(checkpoint, id)));
    json.field("elements", parameter.elements);
    json.field("role", paramRoleName(parameter.role));
    if (parameter.group < 0)
        json.nullField("group");
    else
        json.field("group", parameter.group);
    json.field("trainable", parameter.role == ParamRole::Trainable);
    if (parameter.sharedWith == kNoParam)
        json.nullField("shared_with");
    else
        json.nameField("shared_with", checkpoint.params[index(parameter.sharedWith)].name);
    json.objectField("states");
    for (const std::string& state : statesOf(checkpoint, id)) {
        json.objectField(state);
        json.field("dtype", dtypeName(stateDtype(checkpoint, id, state)));
        writeShape(json, "shape", parameter.shape);
        json.endObject();
    }
    json.endObject();
    json.endObject();
}

std::string stateList(const Checkpoint& checkpoint, ParamId id)
{
    std::string out;
    for (const std::string& state : statesOf(checkpoint, id))
        out += (out.empty() ? "" : " ") + state;
    return out;
}

} // namespace

std::string_view paramRoleName(ParamRole role)
{
    switch (role) {
    case ParamRole::Trainable:
        return "trainable";
    case ParamRole::Frozen:
        return "frozen";
    case ParamRole::Buffer:
        break;
    }
    return "buffer";
}

void writeParamsJson(const TextSink& sink, const AnswerContext& context)
{
    std::vector<ParamId> all;
    for (uint32_t i = 0; i < context.checkpoint.params.size(); ++i)
        all.push_back(ParamId{i});
    writeParamsJson(sink, context, all, {});
}

void writeParamsJson(const TextSink& sink, const AnswerContext& context, std::span<const ParamId> params,
    std::string_view filter)
{
    const Checkpoint& checkpoint = context.checkpoint;
    JsonWriter json(sink);
    beginAnswer(json, "params", context);
    if (!filter.empty())
        json.nameField("filter", filter);
    json.arrayField("parameters");
    for (const ParamId param : params)
        writeParameter(json, checkpoint, param);
    json.endArray();
    writeFindings(json, "findings", checkpoint.findings);
    endAnswer(json, sink);
}

void writeParamsText(const TextSink& sink, const TextStyle& style, const AnswerContext& context)
{
    const Checkpoint& checkpoint = context.checkpoint;
    using Align = TextTable::Align;
    TextTable table({{"name"}, {"shape"}, {"dtype"}, {"elements", Align::Right}, {"group", Align::Right},
        {"role"}, {"states"}, {"shared with"}});
    for (uint32_t i = 0; i < checkpoint.params.size(); ++i) {
        const Parameter& parameter = checkpoint.params[i];
        const bool alias = parameter.sharedWith != kNoParam;
        table.add({parameter.name, shapeText(parameter.shape),
            std::string(dtypeName(modelDtype(checkpoint, ParamId{i}))), formatCount(parameter.elements),
            parameter.group < 0 ? "-" : std::to_string(parameter.group),
            std::string(paramRoleName(parameter.role)), stateList(checkpoint, ParamId{i}),
            alias ? checkpoint.params[index(parameter.sharedWith)].name : ""});
    }
    table.write(sink, style);
}

} // namespace shardscope
