// SPDX-License-Identifier: Apache-2.0
#include "core/report/answers/health_report.h"

#include "core/base/text.h"
#include "core/report/answers/finding_report.h"
#include "core/report/text/printable.h"

#include <fmt/format.h>

#include <cmath>

namespace shardscope {

namespace {

std::optional<double> ifFinite(double value)
{
    return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

struct LastUpdate {
    double rms = 0;
    std::optional<double> ratio;
};

void describe(auto& out, const LastUpdate& update)
{
    out.is("LastUpdate", "The update of the last step, without weight decay.");
    out.field("rms", update.rms);
    out.field("ratio", update.ratio, finite("to the rms of the weights of the same elements"));
}

} // namespace

void describe(auto& out, const StateHealth& state)
{
    const About ofFinite = finite("of the finite elements; null where there are none");
    out.is("StateHealth", "One state: the weights, or a state of the optimizer.");
    out.field("state", state.state);
    out.field("read", state.read, "elements that were read");
    out.field("missing", state.missing, "elements that could not be read");
    out.field("rms", ifFinite(state.rms()), ofFinite);
    out.field(
        "l2", ifFinite(state.l2()), finite("of a sample: scaled to all elements; null where none is finite"));
    out.field("zeros", state.zeros, "of those read");
    out.field("nan", state.nans);
    out.field("inf", state.infinities);
    out.field("min", ifFinite(state.min), ofFinite);
    out.field("max", ifFinite(state.max), ofFinite);
}

namespace {

void describeRow(auto& out, const HealthRow& row)
{
    out.field("parameters", row.parameters);
    out.field("elements", row.elements);
    out.field("exact", row.exact, "false: large tensors were sampled");
    out.field("missing", row.missing(), "elements of all states that could not be read");
    out.field("states", row.states, "weights first");
    const bool known = row.updated > 0;
    out.field("update",
        known ? std::optional(LastUpdate{row.updateRms(), ifFinite(row.updateRatio())}) : std::nullopt,
        "null if it is not known");
    out.textOrNull("why", known ? std::string_view() : noUpdateText(row.noUpdate), "why there is no update");
    out.field("step", row.firstStep, "steps that the moments were updated for, as the optimizer keeps it");
}

} // namespace

/// A layer.
void describe(auto& out, const HealthRow& row)
{
    out.is("LayerHealth", "The parameters of one layer.");
    out.name("layer", row.name);
    describeRow(out, row);
}

void describe(auto& out, const TagHealth::Group& group)
{
    const bool known = group.rule.kind != UpdateKind::Unknown;
    out.is("GroupRule", "How the optimizer updates a param group.");
    out.field("group", group.index);
    out.textOrNull("rule", updateKindName(group.rule.kind), "adam, lion, sgd, adagrad; null if not known");
    out.field("learning_rate", group.rule.learningRate);
    out.textOrNull(
        "why", known ? std::string_view() : noUpdateText(NoUpdate::UnknownRule), "why it is not known");
}

void describe(auto& out, const TagHealth& tag)
{
    out.is("TagHealth", "Health of one tag.");
    out.name("tag", tag.tag);
    out.field("step", tag.step, "global steps");
    out.field("learning_rate", tag.learningRate(), "the highest of all groups");
    out.field("layers", tag.layers);
    describeError(out, tag.error, "why the tag cannot be read");
}

void describe(auto& out, const HealthAlarm& alarm)
{
    out.is("HealthAlarm", "Something that looks wrong.");
    out.word("code", alarm.code, kAlarmCodes);
    out.word("severity", severityName(alarm.severity),
        std::array{std::string_view("error"), std::string_view("warning"), std::string_view("info")});
    out.name("tag", alarm.tag);
    out.nameOrNull("layer", alarm.layer);
    out.field("rank", alarm.rank);
    out.field("text", toValidUtf8(alarm.text));
}

namespace {

void describeHealth(auto& out, const HealthAnswer& answer)
{
    out.answer("health", "HealthAnswer", "Health of a training state.");
    describeSubject(out, answer.context);
    describeReport(out, answer.context.report);
    out.field("step", answer.tag.step, "global steps");
    out.field("exact", answer.tag.exact, "false: large tensors were sampled");
    out.field("groups", answer.tag.groups);
    out.field("layers", answer.tag.layers, "in the order of the model");
    out.maybe(answer.hasParams, [&] {
        out.list("parameters", answer.params, [](auto& each, const HealthRow& row) {
            each.is("ParameterHealth", "One parameter.");
            each.name("name", row.name);
            describeRow(each, row);
        });
    });
    out.maybe(answer.hasHistory, [&] {
        out.field("history", answer.history, "the tags of the run, oldest first");
        out.field("tags_omitted", answer.tagsOmitted,
            "tags of the run that were not read; only the window leaves out old ones");
    });
    out.field("alarms", answer.alarms, "by tag, oldest first");
    out.field("findings", answer.context.checkpoint.findings);
    describeCompute(out, answer.context);
}

std::string number(double value)
{
    return std::isfinite(value) ? fmt::format("{:.3g}", value) : "-";
}

using Align = TextTable::Align;

/// The states that any row has, weights as one column first.
std::vector<std::string> momentsOf(const std::vector<HealthRow>& rows)
{
    std::vector<std::string> out;
    for (const HealthRow& row : rows) {
        for (const StateHealth& state : row.states) {
            if (!isWeightState(state.state) && std::find(out.begin(), out.end(), state.state) == out.end())
                out.push_back(state.state);
        }
    }
    return out;
}

void writeRows(
    const TextSink& sink, const TextStyle& style, const char* title, const std::vector<HealthRow>& rows)
{
    const std::vector<std::string> moments = momentsOf(rows);
    std::vector<TextTable::Column> columns{{title}, {"elements", Align::Right}, {"weights", Align::Right}};
    for (const std::string& moment : moments)
        columns.push_back({printable(moment), Align::Right});
    for (const char* name : {"update/weight", "zeros", "NaN", "inf", "missing", "step"})
        columns.push_back({name, Align::Right});
    TextTable table(columns);
    for (const HealthRow& row : rows) {
        std::vector<std::string> cells{printable(row.name),
            (row.exact ? "" : "~ ") + formatCount(row.elements), number(row.weights().rms())};
        uint64_t nans = 0;
        uint64_t infinities = 0;
        for (const std::string& moment : moments) {
            const StateHealth* state = row.find(moment);
            cells.push_back(state == nullptr ? "-" : number(state->rms()));
        }
        for (const StateHealth& state : row.states) {
            nans += state.nans;
            infinities += state.infinities;
        }
        const StateHealth weights = row.weights();
        const double zeros = weights.read == 0
            ? 0
            : 100 * static_cast<double>(weights.zeros) / static_cast<double>(weights.read);
        cells.push_back(row.updated > 0 ? number(row.updateRatio()) : "-");
        cells.push_back(fmt::format("{:.3g}%", zeros));
        cells.push_back(formatCount(nans));
        cells.push_back(formatCount(infinities));
        cells.push_back(formatCount(row.missing()));
        cells.push_back(row.firstStep ? fmt::format("{:.0f}", *row.firstStep) : "-");
        table.add(cells);
    }
    table.write(sink, style);
}

void writeHistory(const TextSink& sink, const TextStyle& style, const std::vector<TagHealth>& tags)
{
    TextTable table(
        {{"tag"}, {"step", Align::Right}, {"learning rate", Align::Right}, {"weights", Align::Right},
            {"update/weight", Align::Right}, {"NaN", Align::Right}, {"inf", Align::Right}});
    for (const TagHealth& tag : tags) {
        if (tag.error) {
            table.add({printable(tag.tag), "-", "-", printable(tag.error->message), "-", "-", "-"});
            continue;
        }
        HealthRow all;
        uint64_t nans = 0;
        uint64_t infinities = 0;
        for (const HealthRow& row : tag.layers) {
            all += row;
            for (const StateHealth& state : row.states) {
                nans += state.nans;
                infinities += state.infinities;
            }
        }
        table.add({printable(tag.tag), tag.step ? std::to_string(*tag.step) : "-", number(tag.learningRate()),
            number(all.weights().rms()), all.updated > 0 ? number(all.updateRatio()) : "-", formatCount(nans),
            formatCount(infinities)});
    }
    sink("\n");
    table.write(sink, style);
}

} // namespace

std::string_view updateKindName(UpdateKind kind)
{
    switch (kind) {
    case UpdateKind::Adam:
        return "adam";
    case UpdateKind::Lion:
        return "lion";
    case UpdateKind::Sgd:
        return "sgd";
    case UpdateKind::Adagrad:
        return "adagrad";
    case UpdateKind::Unknown:
        break;
    }
    return {};
}

void writeHealthJson(const TextSink& sink, const HealthAnswer& answer)
{
    writeObject(sink, [&](JsonOut& out) { describeHealth(out, answer); });
}

std::string healthSchema()
{
    return schemaOf("health", [](SchemaOut& out) {
        HealthAnswer answer{schemaContext(), {}, {}, {}, {}};
        answer.hasParams = answer.hasHistory = true;
        describeHealth(out, answer);
    });
}

void writeHealthText(const TextSink& sink, const TextStyle& style, const HealthAnswer& answer)
{
    writeRows(sink, style, "layer", answer.tag.layers);
    if (answer.hasParams) {
        sink("\n");
        writeRows(sink, style, "parameter", answer.params);
    }
    if (answer.hasHistory)
        writeHistory(sink, style, answer.history);
    sink(style.dim(
             "weights and moments: root mean square; zeros: of the weights; update/weight: rms of the last "
             "step's update, without decay, by rms of the weights")
        + "\n");
    for (const TagHealth::Group& group : answer.tag.groups) {
        if (group.rule.kind == UpdateKind::Unknown)
            sink(fmt::format("group {}: {}\n", group.index, noUpdateText(NoUpdate::UnknownRule)));
    }
    if (!answer.tag.exact)
        sink(style.dim("~ from a sample; --exact reads every element") + "\n");
    for (const HealthAlarm& alarm : answer.alarms)
        sink(fmt::format(
            "{} {}: {}\n", severityName(alarm.severity), printable(alarm.tag), printable(alarm.text)));
    const std::string notJudged = notJudgedText(answer.tag);
    if (!notJudged.empty())
        sink("Cannot be judged: " + notJudged + ".\n");
    const bool isWhole = answer.alarms.empty() && notJudged.empty() && !answer.hasHistory;
    if (countWrong(answer.alarms) == 0 && wasRead(answer.tag))
        sink(isWhole ? "Nothing looks wrong in this tag alone; --history compares it with the others.\n"
                     : "Nothing looks wrong in what was read.\n");
}

} // namespace shardscope
