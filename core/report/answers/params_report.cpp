// SPDX-License-Identifier: Apache-2.0
#include "core/report/answers/params_report.h"

#include "core/base/text.h"
#include "core/layout/counts.h"
#include "core/layout/fragments.h"
#include "core/layout/model_dtype.h"
#include "core/report/answers/finding_report.h"

namespace shardscope {

namespace {

/// How a state is stored.
struct StateType {
    DType dtype = DType::Unknown;
    const Shape* shape = nullptr;
};

void describe(auto& out, const StateType& type)
{
    out.is("StateType", "How a state is stored.");
    out.field("dtype", dtypeName(type.dtype));
    out.field("shape", type.shape == nullptr ? Shape() : *type.shape);
}

void describeParameter(auto& out, const Checkpoint& checkpoint, ParamId id)
{
    const Parameter& parameter = checkpoint.params[index(id)];
    std::vector<std::pair<std::string, StateType>> states;
    for (const std::string& state : statesOf(checkpoint, id))
        states.emplace_back(state, StateType{stateDtype(checkpoint, id, state), &parameter.shape});
    out.is("Parameter", "One parameter with its states.");
    out.name("name", parameter.name);
    out.field("shape", parameter.shape);
    out.field("dtype", dtypeName(modelDtype(checkpoint, id)));
    out.field("elements", parameter.elements);
    out.word("role", paramRoleName(checkpoint, parameter), {"trainable", "frozen", "buffer", "weight"},
        "weight: nothing records whether it was trained");
    out.field("group", parameter.group < 0 ? std::nullopt : std::optional<uint32_t>(parameter.group));
    out.field("trainable",
        isRoleUnrecorded(checkpoint, parameter) ? std::nullopt
                                                : std::optional(parameter.role == ParamRole::Trainable));
    out.nameOrNull("shared_with",
        parameter.sharedWith == kNoParam ? "" : checkpoint.params[index(parameter.sharedWith)].name);
    out.field("states", states);
}

void describeParams(
    auto& out, const AnswerContext& context, std::span<const ParamId> params, std::string_view filter)
{
    out.answer("params", "ParamsAnswer", "The parameters.");
    describeSubject(out, context);
    describeReport(out, context.report);
    out.maybe(!filter.empty(), [&] {
        out.name("filter", filter, "in files that the window saves: the filter that chose the parameters");
    });
    out.list("parameters", params,
        [&](auto& each, ParamId param) { describeParameter(each, context.checkpoint, param); });
    out.field("findings", context.checkpoint.findings);
}

std::string stateList(const Checkpoint& checkpoint, ParamId id)
{
    std::string out;
    for (const std::string& state : statesOf(checkpoint, id))
        out += (out.empty() ? "" : " ") + state;
    return out;
}

} // namespace

std::string_view paramRoleName(const Checkpoint& checkpoint, const Parameter& parameter)
{
    switch (parameter.role) {
    case ParamRole::Trainable:
        return "trainable";
    case ParamRole::Frozen:
        return isRoleUnrecorded(checkpoint, parameter) ? "weight" : "frozen";
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
    writeObject(sink, [&](JsonOut& out) { describeParams(out, context, params, filter); });
}

std::string paramsSchema()
{
    return schemaOf("params", [](SchemaOut& out) { describeParams(out, schemaContext(), {}, {}); });
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
            std::string(paramRoleName(checkpoint, parameter)), stateList(checkpoint, ParamId{i}),
            alias ? checkpoint.params[index(parameter.sharedWith)].name : ""});
    }
    table.write(sink, style);
}

} // namespace shardscope
