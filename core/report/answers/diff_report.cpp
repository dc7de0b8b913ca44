// SPDX-License-Identifier: Apache-2.0
#include "core/report/answers/diff_report.h"

#include "core/base/text.h"
#include "core/report/answers/diff_words.h"
#include "core/report/text/printable.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace shardscope {

namespace {

std::string_view sideName(DiffSide side)
{
    return side == DiffSide::Left ? "left" : side == DiffSide::Right ? "right" : "both";
}

constexpr std::array<std::string_view, 3> kSides{"left", "right", "both"};

/// A row of `differences`.
struct Difference {
    std::string_view kind = {};
    std::string_view param = {};
    std::string_view state = {};
    const StateDifference* tensor = nullptr; ///< if values were compared
    const ScalarDifference* scalar = nullptr;
    std::optional<uint64_t> notCompared = {}; ///< if a side lacks elements
};

void describeValues(auto& out, const StateDifference& difference)
{
    const Comparison& values = difference.values;
    out.field(
        "is_copy", difference.state.isCopy, "a 16-bit copy next to masters: not part of the training state");
    out.field("elements", values.elements);
    out.field("count", values.different, "elements that differ");
    out.field("beyond_tolerance", values.beyond);
    out.field("last_bit", values.lastBit, "of count: neighbouring values");
    out.field("not_finite", values.notFinite, "of count: NaN or infinite on a side");
    out.field("first", values.firstDifferent, "first element that differs");
    out.field("max_abs", values.maxAbsolute);
    out.field("rel_l2", values.relativeL2());
    out.field("cosine", values.cosine());
    out.field("left", dtypeName(difference.state.leftType));
    out.field("right", dtypeName(difference.state.rightType));
}

void describe(auto& out, const Difference& difference)
{
    static const StateDifference kNoTensor;
    static const ScalarDifference kNoScalar;
    const StateDifference& tensor = difference.tensor == nullptr ? kNoTensor : *difference.tensor;
    const ScalarDifference& scalar = difference.scalar == nullptr ? kNoScalar : *difference.scalar;
    out.is("Difference", "One difference. `max_abs` and `rel_l2` are of values, in float64.");
    out.word("kind", difference.kind,
        {"only-left", "only-right", "incomplete-left", "incomplete-right", "shape", "dtype", "values",
            "scalar", "option"},
        "incomplete-left, incomplete-right: that side lacks elements of the state");
    out.nameOrNull("param", difference.param);
    out.textOrNull("state", difference.state, "null for the parameter itself");
    out.maybe(difference.notCompared.has_value(),
        [&] { out.field("not_compared", difference.notCompared.value_or(0), "elements that a side lacks"); });
    out.maybe(difference.tensor != nullptr, [&] { describeValues(out, tensor); });
    out.maybe(difference.scalar != nullptr, [&] {
        out.field(
            "of", scalarOwner(scalar.left), "group/N, loss_scaler, lr_scheduler, engine or client_state");
        out.name("name", scalar.left.name);
        out.textOrNull("left", scalar.left.value, "dtype of tensors, value of scalars; null: does not exist");
        out.textOrNull("right", scalar.right.value);
    });
}

template <class Add>
void addDifferences(const ParamDifference& difference, const Add& add)
{
    const PairedParam& param = difference.param;
    if (!param.isPaired())
        return add({param.left == kNoParam ? "only-right" : "only-left", param.name});
    if (!param.sameShape)
        return add({"shape", param.name});
    for (const std::string& state : param.onlyLeft)
        add({"only-left", param.name, state});
    for (const std::string& state : param.onlyRight)
        add({"only-right", param.name, state});
    for (const PartialState& state : difference.partial)
        add({differenceKind(state), param.name, state.state.left, nullptr, nullptr, state.notCompared});
    for (const StateDifference& state : difference.states)
        add({differenceKind(state), param.name, state.state.left, &state});
}

/// A row of `updates`.
struct Update {
    std::string_view param = {};
    UpdateDifference size = {};
};

void describe(auto& out, const Update& update)
{
    out.is("UpdateSize", "How far the weights are apart in optimizer updates.");
    out.name("param", update.param);
    out.field("without_gradient", update.size.withoutGradient);
    out.field("with_unit_gradient", update.size.withUnitGradient);
    out.field("weights_apart", update.size.weightsApart);
}

} // namespace

void describe(auto& out, const NotComparedWhy& why)
{
    out.is("NotComparedReason", "A reason why something was not compared.");
    out.field("code", why.code);
    out.word("side", sideName(why.side), kSides);
    out.field("message", why.message);
    out.textOrNull("where", why.where.text());
}

void describe(auto& out, const NotCompared& left)
{
    out.is(
        "NotCompared", "What was not compared: a side lacks it, or has it in a form that is not understood.");
    out.field("parameters", left.parameters);
    out.field("tensors", left.tensors);
    out.field("elements", left.elements, "as far as they are known");
    out.field("why", left.codes(),
        "codes that `allow` accepts; empty if only one side lacks it, which is a difference");
    out.field("reasons", left.why);
}

void describe(auto& out, const DiffCause& cause)
{
    out.is("Cause", "A probable cause of differences.");
    out.field("code", cause.code);
    out.word("side", sideName(cause.side), kSides);
    out.field("message", cause.message);
    out.field("evidence", cause.evidence);
}

namespace {

void describeSide(auto& out, const AnswerContext& side)
{
    out.is("DiffSide", "One of the two checkpoints.");
    out.name("path", side.path);
    out.name("checkpoint", checkpointFolder(side.checkpoint));
    out.textOrNull("tag", side.checkpoint.tag);
    out.field("kind", kindName(side.checkpoint.kind));
}

void describeDiff(auto& out, const DiffAnswer& answer)
{
    const StateDiff& diff = answer.diff;
    out.answer("diff", "DiffAnswer", "Whether two checkpoints hold the same training state.");
    describeReport(out, answer.left.report);
    out.object("left", [&](auto& side) { describeSide(side, answer.left); });
    out.object("right", [&](auto& side) { describeSide(side, answer.right); });
    out.field("equal", diff.areEqual(), "everything was compared, without differences above the tolerance");
    out.object("compared", [&](auto& compared) {
        compared.is("Compared", "What was compared.");
        compared.field("parameters", diff.parameters);
        compared.field("tensors", diff.tensors);
        compared.field("elements", diff.elements);
        compared.field("scalars", diff.scalars);
    });
    out.field("not_compared", diff.notCompared);
    out.word("verdict", answer.verdict, verdictName);
    out.field("verdict_text", verdictText(answer.verdict, diff));
    out.field("causes", answer.causes);
    out.object("counts", [&](auto& counts) {
        const DifferenceCounts found = countDifferences(diff);
        counts.is("DiffCounts", "How many rows `differences` has.");
        counts.field("differences", found.differences, "all rows but the incomplete ones");
        counts.field("incomplete", found.incomplete, "rows of incomplete-left and incomplete-right");
    });
    out.rows(
        "differences", Row<Difference>{},
        [&](const auto& add) {
            for (const ParamDifference& param : diff.params)
                addDifferences(param, [&](const Difference& row) { add(row); });
            for (const ScalarDifference& scalar : diff.scalarDifferences)
                add({differenceKind(scalar), {}, {}, nullptr, &scalar});
        },
        described);
    out.rows(
        "updates", Row<Update>{},
        [&](const auto& add) {
            for (const ParamDifference& param : diff.params) {
                if (param.update)
                    add({param.param.name, *param.update});
            }
        },
        described, "the next optimizer step of both sides, relative to its length");
    describeCompute(out, answer.left);
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
    for (const PartialState& state : difference.partial)
        add({param.name, state.state.left,
            fmt::format("{} of {} not compared: not complete on the {}", formatCount(state.notCompared),
                formatCount(param.elements), sideName(state.side))});
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
    writeObject(sink, [&](JsonOut& out) { describeDiff(out, answer); });
}

std::string diffSchema()
{
    const DiffAnswer answer{schemaContext(), schemaContext(), {}, {}, {}};
    return schemaOf("diff", [&](SchemaOut& out) { describeDiff(out, answer); });
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
        fmt::format("{} parameters{}, {} tensors, {} elements, {} scalars",
            formatCount(diff.parameters - diff.buffers),
            diff.buffers == 0 ? "" : fmt::format(", {} buffers", formatCount(diff.buffers)),
            formatCount(diff.tensors), formatCount(diff.elements), formatCount(diff.scalars)));
    if (const std::string found = countsText(countDifferences(diff)); !found.empty())
        fields.add("found", found);
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
