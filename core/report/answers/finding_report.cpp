// SPDX-License-Identifier: Apache-2.0
#include "core/report/answers/finding_report.h"

#include "core/base/finding_codes.h"
#include "core/describe/schema_out.h"
#include "core/doctor/diagnosis.h"
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

void describeError(
    auto& out, const Error& error, const std::string& next, const std::vector<std::string>& runs)
{
    out.answer("error", "ErrorAnswer", "What failed, on what, and what to do.");
    describe(out, error);
    out.textOrNull("command", next, "a command to run next, quoted for a shell; null when the hint holds it");
    out.maybe(!runs.empty(), [&] {
        out.field("runs", runs,
            "checkpoints that were found where one was expected, to be opened instead; absent without any");
    });
}

} // namespace

std::string_view knownCode(std::string_view text)
{
    const auto codes = code::all();
    if (const auto found = std::ranges::find(codes, text); found != codes.end())
        return *found;
    const Diagnosis* diagnosis = findDiagnosis(text);
    return diagnosis == nullptr ? std::string_view() : diagnosis->code;
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

void writeErrorJson(
    const TextSink& sink, const Error& error, const std::string& next, const std::vector<std::string>& runs)
{
    writeObject(sink, [&](JsonOut& out) { describeError(out, error, next, runs); });
}

std::string errorSchema()
{
    return schemaOf("error", [](SchemaOut& out) { describeError(out, {}, {}, {}); });
}

void writeErrorText(const TextSink& sink, const TextStyle& style, const Error& error, const std::string& next)
{
    std::string text = style.red("error") + ": " + printable(error.message) + "\n";
    if (!error.path.empty())
        text += "  on: " + printable(error.path) + "\n";
    if (!error.hint.text.empty())
        text += "  try: " + printable(error.hint.text) + "\n";
    if (!next.empty())
        text += "  run: " + printable(next) + "\n";
    sink(text);
}

} // namespace shardscope
