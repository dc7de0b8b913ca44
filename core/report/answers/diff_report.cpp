// SPDX-License-Identifier: Apache-2.0
#include "core/report/answers/diff_report.h"

#include "core/base/text.h"
#include "core/report/answers/diff_words.h"
#include "core/report/text/printable.h"

#include <fmt/format.h>

#include <algorithm>

namespace shardscope {

namespace {

std::string_view sideName(DiffSide side)
{
    return side == DiffSide::Left ? "left" : side == DiffSide::Right ? "right" : "both";
}

void writeKind(JsonWriter& json, std::string_view kind, std::string_view param, std::string_view state)
{
    json.field("kind", kind);
    if (param.empty())
        json.nullField("param");
    else
        json.nameField("param", param);
    json.textOrNull("state", state);
}

void writePlain(JsonWriter& json, std::string_view kind, std::string_view param, std::string_view state)
{
    json.beginObject();
    writeKind(json, kind, param, state);
    json.endObject();
}

void writeValues(JsonWriter& json, const ParamDifference& param, const StateDifference& state)
{
    const Comparison& values = state.values;
    json.beginObject();
    writeKind(json, differenceKind(state), param.param.name, state.state.left);
    json.field("is_copy", state.state.isCopy);
    json.field("elements", values.elements);
    json.field("count", values.different);
    json.field("beyond_tolerance", values.beyond);
    json.field("last_bit", values.lastBit);
    json.field("not_finite", values.notFinite);
    json.field("first", values.firstDifferent);
    json.field("max_abs", values.maxAbsolute);
    json.field("rel_l2", values.relativeL2());
    json.field("cosine", values.cosine());
    json.field("left", dtypeName(state.state.leftType));
    json.field("right", dtypeName(state.state.rightType));
    json.endObject();
}

void writeParam(JsonWriter& json, const ParamDifference& difference)
{
    const PairedParam& param = difference.param;
    if (!param.isPaired())
        return writePlain(json, param.left == kNoParam ? "only-right" : "only-left", param.name, "");
    if (!param.sameShape)
        return writePlain(json, "shape", param.name, "");
    for (const std::string& state : param.onlyLeft)
        writePlain(json, "only-left", param.name, state);
    for (const std::string& state : param.onlyRight)
        writePlain(json, "only-right", param.name, state);
    for (const StateDifference& state : difference.states)
        writeValues(json, difference, state);
}

void writeScalar(JsonWriter& json, const ScalarDifference& scalar)
{
    json.beginObject();
    writeKind(json, differenceKind(scalar), "", "");
    json.field("of", scalarOwner(scalar.left));
    json.nameField("name", scalar.left.name);
    json.textOrNull("left", scalar.left.value);
    json.textOrNull("right", scalar.right.value);
    json.endObject();
}

void writeUpdates(JsonWriter& json, const StateDiff& diff)
{
    json.arrayField("updates");
    for (const ParamDifference& param : diff.params) {
        if (!param.update)
            continue;
        json.beginObject();
        json.nameField("param", param.param.name);
        json.field("without_gradient", param.update->withoutGradient);
        json.field("with_unit_gradient", param.update->withUnitGradient);
        json.field("weights_apart", param.update->weightsApart);
        json.endObject();
    }
    json.endArray();
}

void writeNotCompared(JsonWriter& json, const NotCompared& left)
{
    json.objectField("not_compared");
    json.field("parameters", left.parameters);
    json.field("tensors", left.tensors);
    json.field("elements", left.elements);
    json.textList("why", left.codes());
    json.arrayField("reasons");
    for (const NotComparedWhy& why : left.why) {
        json.beginObject();
        json.field("code", why.code);
        json.field("side", sideName(why.side));
        json.field("message", why.message);
        json.textOrNull("where", why.where.text());
        json.endObject();
    }
    json.endArray();
    json.endObject();
}

void writeSide(JsonWriter& json, std::string_view field, const AnswerContext& side)
{
    json.objectField(field);
    json.nameField("path", side.path);
    json.nameField("checkpoint", checkpointFolder(side.checkpoint));
    json.textOrNull("tag", side.checkpoint.tag);
    json.field("kind", kindName(side.checkpoint.kind));
    json.endObject();
}

std::string number(double value)
{
    return fmt::format("{:.3g}", value);
}

void addRows(TextTable& table, const ParamDifference& difference, uint64_t limit, uint64_t& rows)
{
    const PairedParam& param = difference.param;
    const auto add = [&](std::vector<std::string> cells) {
        if (rows++ < limit)
            table.add(std::move(cells));
    };
    if (!param.isPaired())
        return add({param.name, "", param.left == kNoParam ? "only right" : "only left"});
    if (!param.sameShape)
        return add({param.name, "", "different shape"});
    for (const std::string& state : param.onlyLeft)
        add({param.name, state, "only left"});
    for (const std::string& state : param.onlyRight)
        add({param.name, state, "only right"});
    const std::string step = difference.update
        ? number(std::max(difference.update->withoutGradient, difference.update->withUnitGradient))
        : "";
    for (const StateDifference& state : difference.states) {
        const bool finite = state.values.notFinite == 0; // else a number would hide NaN or infinities
        add({param.name, state.state.left + (state.state.isCopy ? " (copy)" : ""),
            fmt::format("{} of {}", formatCount(state.values.different), formatCount(state.values.elements)),
            finite ? number(state.values.maxAbsolute) : "nan",
            finite ? number(state.values.relativeL2()) : "nan", finite || step.empty() ? step : "nan"});
    }
}

} // namespace

void writeDiffJson(const TextSink& sink, const DiffAnswer& answer)
{
    const StateDiff& diff = answer.diff;
    JsonWriter json(sink);
    json.beginObject();
    json.field("schema", "shardscope/diff/1");
    writeSide(json, "left", answer.left);
    writeSide(json, "right", answer.right);
    json.field("equal", diff.areEqual());
    json.objectField("compared");
    json.field("parameters", diff.parameters);
    json.field("tensors", diff.tensors);
    json.field("elements", diff.elements);
    json.field("scalars", diff.scalars);
    json.endObject();
    writeNotCompared(json, diff.notCompared);
    json.field("verdict", verdictName(answer.verdict));
    json.field("verdict_text", verdictText(answer.verdict, diff));
    json.arrayField("causes");
    for (const DiffCause& cause : answer.causes) {
        json.beginObject();
        json.field("code", cause.code);
        json.field("side", sideName(cause.side));
        json.field("message", cause.message);
        json.textList("evidence", cause.evidence);
        json.endObject();
    }
    json.endArray();
    json.arrayField("differences");
    for (const ParamDifference& param : diff.params)
        writeParam(json, param);
    for (const ScalarDifference& scalar : diff.scalarDifferences)
        writeScalar(json, scalar);
    json.endArray();
    writeUpdates(json, diff);
    writeCompute(json, answer.left);
    endAnswer(json, sink);
}

void writeDiffText(const TextSink& sink, const TextStyle& style, const DiffAnswer& answer)
{
    const StateDiff& diff = answer.diff;
    const bool good = answer.verdict == DiffVerdict::Same || answer.verdict == DiffVerdict::Padding;
    const std::string verdict = verdictText(answer.verdict, diff);
    sink((good ? style.green(verdict) : style.bold(verdict)) + "\n");
    TextFields fields;
    fields.add("left", checkpointFolder(answer.left.checkpoint));
    fields.add("right", checkpointFolder(answer.right.checkpoint));
    fields.add("compared",
        fmt::format("{} parameters, {} tensors, {} elements, {} scalars", formatCount(diff.parameters),
            formatCount(diff.tensors), formatCount(diff.elements), formatCount(diff.scalars)));
    fields.write(sink, style, "  ");
    for (const NotComparedWhy& why : diff.notCompared.why)
        sink(style.yellow(fmt::format("not compared: {}{}", printable(why.message),
                 why.side == DiffSide::Both ? std::string(", on both sides")
                                            : fmt::format(", on the {}", sideName(why.side))))
            + style.dim(" [" + why.code + "]") + "\n");
    for (const DiffCause& cause : answer.causes) {
        sink(style.yellow(printable(cause.message)) + style.dim(" [" + cause.code + "]") + "\n");
        for (const std::string& line : cause.evidence)
            sink("  - " + printable(line) + "\n");
    }
    using Align = TextTable::Align;
    TextTable table({{"parameter"}, {"state"}, {"different"}, {"max abs", Align::Right},
        {"rel l2", Align::Right}, {"next step", Align::Right}});
    uint64_t rows = 0;
    for (const ParamDifference& param : diff.params)
        addRows(table, param, answer.limit, rows);
    if (!table.empty())
        table.write(sink, style);
    if (rows > answer.limit)
        sink(style.dim(fmt::format("… and {} more; --limit lists them, --json has all", rows - answer.limit))
            + "\n");
}

} // namespace shardscope
