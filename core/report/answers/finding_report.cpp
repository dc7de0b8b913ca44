// SPDX-License-Identifier: Apache-2.0
#include "core/report/answers/finding_report.h"

#include "core/report/text/printable.h"

#include <algorithm>
#include <array>

namespace shardscope {

namespace {

std::string severityText(const TextStyle& style, Severity severity)
{
    const std::string_view name = severityName(severity);
    switch (severity) {
    case Severity::Error:
        return style.red(name);
    case Severity::Warning:
        return style.yellow(name);
    case Severity::Info:
        break;
    }
    return std::string(name);
}

std::string counted(size_t count, std::string_view noun)
{
    const bool plural = count != 1 && noun != "info";
    return std::to_string(count) + " " + std::string(noun) + (plural ? "s" : "");
}

} // namespace

void writeFindings(JsonWriter& json, std::string_view field, const std::vector<Finding>& findings)
{
    json.arrayField(field);
    for (const Finding& finding : findings) {
        json.beginObject();
        json.field("code", finding.code);
        json.field("severity", severityName(finding.severity));
        json.field("message", finding.message);
        json.textOrNull("where", finding.where.text());
        json.textList("evidence", finding.evidence);
        json.endObject();
    }
    json.endArray();
}

void writeFindingsText(const TextSink& sink, const TextStyle& style, const std::vector<Finding>& findings,
    std::string_view indent)
{
    for (auto next = findings.begin(); next != findings.end();) {
        const Finding& finding = *next;
        const auto end = std::find_if(next, findings.end(), [&](const Finding& other) {
            return other.code != finding.code || other.message != finding.message;
        });
        std::string text(indent);
        text += severityText(style, finding.severity) + ": " + printable(finding.message);
        text += " " + style.dim("[" + std::string(finding.code) + "]") + "\n";
        // A repeated finding is printed once.
        const auto further = static_cast<size_t>(end - next) - 1;
        if (!finding.where.isEmpty())
            text += std::string(indent) + "  at " + printable(finding.where.text())
                + (further == 0 ? "" : " and " + std::to_string(further) + " more") + "\n";
        for (const std::string& fact : finding.evidence)
            text += std::string(indent) + "  - " + printable(fact) + "\n";
        sink(text);
        next = end;
    }
}

std::string findingCountText(const std::vector<Finding>& findings)
{
    static constexpr std::array kOrder{Severity::Error, Severity::Warning, Severity::Info};
    static constexpr std::array<std::string_view, 3> kNouns{"error", "warning", "info"};
    std::string out;
    for (size_t i = 0; i < kOrder.size(); ++i) {
        const auto count = std::count_if(
            findings.begin(), findings.end(), [&](const Finding& f) { return f.severity == kOrder[i]; });
        if (count > 0)
            out += (out.empty() ? "" : ", ") + counted(static_cast<size_t>(count), kNouns[i]);
    }
    return out.empty() ? "none" : out;
}

void writeErrorFields(JsonWriter& json, const Error& error)
{
    json.field("code", errorCodeName(error.code));
    json.field("message", error.message);
    if (error.path.empty())
        json.nullField("path");
    else
        json.nameField("path", error.path);
    json.textOrNull("hint", error.hint);
}

void writeErrorJson(
    const TextSink& sink, const Error& error, const std::string& next, const std::vector<std::string>& runs)
{
    JsonWriter json(sink);
    json.beginObject();
    json.field("schema", "shardscope/error/1");
    writeErrorFields(json, error);
    json.textOrNull("command", next);
    if (!runs.empty())
        json.textList("runs", runs);
    json.endObject();
    json.finish();
    sink("\n");
}

void writeErrorText(const TextSink& sink, const TextStyle& style, const Error& error, const std::string& next)
{
    std::string text = style.red("error") + ": " + printable(error.message) + "\n";
    if (!error.path.empty())
        text += "  on: " + printable(error.path) + "\n";
    if (!error.hint.empty())
        text += "  try: " + printable(error.hint) + "\n";
    if (!next.empty())
        text += "  run: " + printable(next) + "\n";
    sink(text);
}

} // namespace shardscope
