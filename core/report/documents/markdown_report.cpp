// SPDX-License-Identifier: Apache-2.0
#include "core/report/documents/markdown_report.h"

#include "core/report/answers/check_report.h"
#include "core/report/answers/finding_report.h"
#include "core/report/text/printable.h"

#include <algorithm>

namespace shardscope {

namespace {

std::string escaped(std::string_view raw)
{
    std::string out;
    for (const char c : printable(raw)) {
        if (std::string_view("\\`*_[]<>#|~").find(c) != std::string_view::npos)
            out += '\\';
        out += c;
    }
    return out;
}

/// A code span: its fence is longer than any run of backquotes in the text (CommonMark 0.31, 6.1).
std::string code(std::string_view raw)
{
    const std::string text = printable(raw);
    size_t longest = 0;
    size_t run = 0;
    for (const char c : text) {
        run = c == '`' ? run + 1 : 0;
        longest = std::max(longest, run);
    }
    const std::string fence(longest + 1, '`');
    const std::string space = longest > 0 ? " " : "";
    return fence + space + text + space + fence;
}

std::string item(std::string_view name, std::string_view text)
{
    return text.empty() ? std::string() : "- " + std::string(name) + ": " + escaped(text) + "\n";
}

std::string factText(const std::vector<ReportFact>& facts)
{
    std::string out;
    for (const ReportFact& fact : facts)
        out += "- " + std::string(fact.name) + ": " + (fact.isCode ? code(fact.text) : escaped(fact.text))
            + "\n";
    return out;
}

using Findings = std::vector<DoctorFinding>;

/// Findings of one kind, with one explanation.
std::string section(Findings::const_iterator begin, Findings::const_iterator end)
{
    const Diagnosis& diagnosis = *begin->diagnosis;
    std::string out = "\n### " + std::string(severityName(begin->finding.severity)) + ": "
        + escaped(diagnosis.name) + " (" + code(begin->finding.code) + ")\n\n";
    if (diagnosis.silent && begin->finding.severity == Severity::Error)
        out += "Stock DeepSpeed would load this silently.\n\n";
    for (auto at = begin; at != end; ++at) {
        out += "- " + escaped(at->finding.message);
        if (!at->finding.where.isEmpty())
            out += ": " + code(at->finding.where.text());
        out += "\n";
        for (const std::string& fact : at->finding.evidence)
            out += "  - " + escaped(fact) + "\n";
    }
    const std::string means = item("Loading", diagnosis.means.loading)
        + item("Resuming", diagnosis.means.resuming) + item("Exporting", diagnosis.means.exporting)
        + (diagnosis.remedy.empty() ? item("No remedy", diagnosis.noRemedy)
                                    : item("Remedy", diagnosis.remedy))
        + (begin->command.empty() ? std::string()
                                  : "- Command: " + code("shardscope " + begin->command) + "\n");
    return out + (means.empty() ? "" : "\nWhat it means:\n\n") + means;
}

std::string resultText(const CheckResult& result, const CheckpointIdentity& about)
{
    std::string out = "\n## " + escaped(result.path) + "\n\n";
    if (result.error)
        return out + "Cannot be read: " + escaped(result.error->message) + "\n"
            + (result.error->path.empty() ? "" : "\n" + code(result.error->path) + "\n");
    std::vector<Finding> all;
    for (const DoctorFinding& made : result.findings)
        all.push_back(made.finding);
    out += factText(factsOf(about)) + item("Found", findingCountText(all))
        + item("Depth", checkDepthName(result.depth)) + item("Intended use", useText(result))
        + item("Not read", notReadText(result));
    if (result.stopped)
        out += "- Stopped: the check is not complete\n";
    for (auto next = result.findings.begin(); next != result.findings.end();) {
        const auto end = std::find_if(next, result.findings.end(), [&](const DoctorFinding& other) {
            return other.finding.code != next->finding.code
                || other.finding.severity != next->finding.severity;
        });
        out += section(next, end);
        next = end;
    }
    return out;
}

} // namespace

std::string markdownReport(
    const std::vector<CheckResult>& results, std::optional<CheckDepth> depth, const ReportHead& head)
{
    std::string out = "# Checkpoint findings\n\n" + factText(factsOf(head))
        + item("Depth asked for", depth ? checkDepthName(*depth) : "auto");
    for (size_t i = 0; i < results.size(); ++i)
        out += resultText(results[i], head.about[i]);
    return out;
}

} // namespace shardscope
