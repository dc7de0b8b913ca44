// SPDX-License-Identifier: Apache-2.0
#include "core/base/text.h"
#include "core/report/answers/check_report.h"
#include "core/report/answers/finding_report.h"
#include "core/report/text/printable.h"

#include <algorithm>
#include <array>
#include <cstdio>

namespace shardscope {

namespace {

std::string paragraph(const TextStyle& style, std::string_view label, std::string_view text)
{
    return text.empty() ? std::string()
                        : "  " + style.dim(std::string(label)) + " " + std::string(text) + "\n";
}

/// Explains a kind of finding, below the findings of that kind.
std::string explanation(const TextStyle& style, const DoctorFinding& made)
{
    const Diagnosis& diagnosis = *made.diagnosis;
    std::string out;
    out += paragraph(style, "loading:  ", diagnosis.means.loading);
    out += paragraph(style, "resuming: ", diagnosis.means.resuming);
    out += paragraph(style, "exporting:", diagnosis.means.exporting);
    if (!made.command.empty())
        out += paragraph(style, "repair:   ", "shardscope " + printable(made.command));
    else if (!diagnosis.remedy.empty())
        out += paragraph(style, "repair:   ", diagnosis.remedy);
    else
        out += paragraph(style, "no remedy:", diagnosis.noRemedy);
    return out;
}

std::string secondsText(const CheckResult& result)
{
    std::string out;
    for (size_t i = 0; i < result.tiers.size(); ++i) {
        if (!result.tiers[i].done)
            continue;
        std::array<char, 64> text{};
        const std::string name(checkDepthName(static_cast<CheckDepth>(i)));
        std::snprintf(text.data(), text.size(), "%s%s %.2f s", out.empty() ? "" : ", ", name.c_str(),
            result.tiers[i].seconds);
        out += text.data();
    }
    return out;
}

std::vector<Finding> findingsOf(const CheckResult& result)
{
    std::vector<Finding> out;
    for (const DoctorFinding& made : result.findings)
        out.push_back(made.finding);
    return out;
}

void writeResult(const TextSink& sink, const TextStyle& style, const CheckResult& result)
{
    const std::vector<Finding> all = findingsOf(result);
    sink(style.bold(printable(result.path))
        + (result.tag.empty() ? std::string() : "  tag " + printable(result.tag)) + "\n");
    if (result.error) {
        sink("\n");
        writeErrorText(sink, style, *result.error);
        return;
    }
    for (auto next = result.findings.begin(); next != result.findings.end();) {
        const auto end = std::find_if(next, result.findings.end(), [&](const DoctorFinding& other) {
            return other.finding.code != next->finding.code
                || other.finding.severity != next->finding.severity;
        });
        std::vector<Finding> alike;
        for (auto at = next; at != end; ++at)
            alike.push_back(at->finding);
        sink("\n");
        writeFindingsText(sink, style, alike);
        if (next->finding.severity != Severity::Info)
            sink(explanation(style, *next));
        next = end;
    }
    std::string foot = (all.empty() ? std::string() : std::string("\n")) + "found: " + findingCountText(all);
    foot += " (depth " + std::string(checkDepthName(result.depth)) + ": " + secondsText(result) + ")\n";
    if (const std::string unread = notReadText(result); !unread.empty())
        foot += unread + "\n";
    if (result.stopped)
        foot += style.yellow("stopped: the check is not complete") + "\n";
    sink(foot);
}

} // namespace

std::string notReadText(const CheckResult& result)
{
    const std::string_view part = result.partNotRead();
    return part.empty() ? std::string()
                        : std::string(part) + " not read: " + formatBytes(result.bytesNotRead) + " ("
            + formatCount(result.bytesNotRead) + " bytes)";
}

void writeCheckText(const TextSink& sink, const TextStyle& style, const std::vector<CheckResult>& results)
{
    for (size_t i = 0; i < results.size(); ++i) {
        if (i > 0)
            sink("\n");
        writeResult(sink, style, results[i]);
    }
}

void writeDiagnosisListText(const TextSink& sink, const TextStyle& style)
{
    TextTable table({{"code"}, {"letter"}, {"depth"}, {"max severity"}, {"description"}});
    for (const Diagnosis* diagnosis : diagnoses())
        table.add({std::string(diagnosis->code), std::string(diagnosis->letter),
            std::string(checkDepthName(diagnosis->depth)), std::string(severityName(diagnosis->worst)),
            std::string(diagnosis->name)});
    table.write(sink, style);
}

} // namespace shardscope
