// SPDX-License-Identifier: Apache-2.0
#include "core/report/documents/html_report.h"

#include "core/report/answers/check_report.h"
#include "core/report/answers/finding_report.h"
#include "core/report/text/printable.h"

#include <algorithm>

namespace shardscope {

namespace {

constexpr std::string_view kStyle = R"css(
:root { color-scheme: light dark; --ink: #1f2328; --dim: #59636e; --page: #ffffff; --card: #f6f8fa;
  --line: #d1d9e0; --error: #b42318; --warning: #8a5a00; --info: #1f5f99; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6edf3; --dim: #9198a1; --page: #0d1117;
  --card: #151b23; --line: #3d444d; --error: #ff8a7a; --warning: #e3b341; --info: #79b8ff; } }
body { margin: 0 auto; max-width: 60rem; padding: 2rem 1.5rem; background: var(--page); color: var(--ink);
  font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.5rem; margin: 0 0 .25rem; } h2 { font-size: 1.15rem; margin: 2rem 0 .5rem; overflow-wrap: anywhere; }
.dim { color: var(--dim); } code { font: 13px/1.5 ui-monospace, monospace; overflow-wrap: anywhere; }
section { border: 1px solid var(--line); border-left: .3rem solid var(--mark); border-radius: .4rem;
  background: var(--card); padding: .8rem 1rem; margin: .8rem 0; break-inside: avoid; }
section.error { --mark: var(--error); } section.warning { --mark: var(--warning); }
section.info { --mark: var(--info); }
h3 { font-size: 1rem; margin: 0 0 .4rem; } .badge { color: var(--mark); font-weight: 600; margin-right: .4rem; }
ul { margin: .2rem 0 .4rem 1.1rem; padding: 0; } dl { margin: .5rem 0 0; display: grid;
  grid-template-columns: max-content minmax(0, 1fr); gap: .15rem .8rem; } dt { color: var(--dim); } dd { margin: 0; overflow-wrap: anywhere; }
dl.head { margin: .25rem 0 .8rem; }
)css";

std::string escaped(std::string_view raw)
{
    std::string out;
    for (const char c : printable(raw)) {
        switch (c) {
        case '&':
            out += "&amp;";
            break;
        case '<':
            out += "&lt;";
            break;
        case '>':
            out += "&gt;";
            break;
        case '"':
            out += "&quot;";
            break;
        default:
            out += c;
        }
    }
    return out;
}

std::string term(std::string_view name, std::string_view text)
{
    return text.empty() ? std::string()
                        : "<dt>" + std::string(name) + "</dt><dd>" + escaped(text) + "</dd>\n";
}

/// The facts of a head as a list.
std::string factList(const std::vector<ReportFact>& facts, const std::string& more = {})
{
    std::string out = "<dl class=\"head\">\n";
    for (const ReportFact& fact : facts) {
        const std::string text = escaped(fact.text);
        out += "<dt>" + std::string(fact.name) + "</dt><dd>"
            + (fact.isCode ? "<code>" + text + "</code>" : text) + "</dd>\n";
    }
    return out + more + "</dl>\n";
}

std::string_view mark(Severity severity)
{
    switch (severity) { // a shape in addition to the colour
    case Severity::Error:
        return "&#9632;";
    case Severity::Warning:
        return "&#9650;";
    case Severity::Info:
        break;
    }
    return "&#9679;";
}

/// Findings of one kind, with one explanation.
std::string card(
    std::vector<DoctorFinding>::const_iterator begin, std::vector<DoctorFinding>::const_iterator end)
{
    const Diagnosis& diagnosis = *begin->diagnosis;
    const std::string severity(severityName(begin->finding.severity));
    std::string out = "<section class=\"" + severity + "\">\n<h3><span class=\"badge\">"
        + std::string(mark(begin->finding.severity)) + " " + severity + "</span>" + escaped(diagnosis.name)
        + " <code class=\"dim\">" + escaped(begin->finding.code)
        + (diagnosis.letter.empty() ? "" : " " + escaped(diagnosis.letter)) + "</code></h3>\n";
    if (diagnosis.silent && begin->finding.severity == Severity::Error)
        out += "<p>Stock DeepSpeed would load this silently.</p>\n";
    out += "<ul>\n";
    for (auto at = begin; at != end; ++at) {
        out += "<li>" + escaped(at->finding.message);
        if (!at->finding.where.isEmpty())
            out += " <code>" + escaped(at->finding.where.text()) + "</code>";
        if (!at->finding.evidence.empty()) {
            out += "<ul>";
            for (const std::string& fact : at->finding.evidence)
                out += "<li class=\"dim\">" + escaped(fact) + "</li>";
            out += "</ul>";
        }
        out += "</li>\n";
    }
    out += "</ul>\n<dl>\n" + term("Loading", diagnosis.means.loading)
        + term("Resuming", diagnosis.means.resuming) + term("Exporting", diagnosis.means.exporting);
    out += diagnosis.remedy.empty() ? term("No remedy", diagnosis.noRemedy)
                                    : term("Remedy", diagnosis.remedy);
    if (!begin->command.empty())
        out += "<dt>Command</dt><dd><code>shardscope " + escaped(begin->command) + "</code></dd>\n";
    return out + term("Reported upstream", diagnosis.threads) + "</dl>\n</section>\n";
}

std::string errorCard(const Error& error)
{
    return "<section class=\"error\">\n<h3><span class=\"badge\">" + std::string(mark(Severity::Error))
        + " cannot be read</span>" + escaped(error.message) + " <code class=\"dim\">"
        + escaped(errorCodeName(error.code)) + "</code></h3>\n<dl>\n" + term("Path", error.path)
        + term("Hint", error.hint.text) + "</dl>\n</section>\n";
}

std::string resultText(const CheckResult& result, const CheckpointIdentity& about)
{
    std::string out = "<h2>" + escaped(result.path) + "</h2>\n";
    if (result.error)
        return out + errorCard(*result.error);
    std::vector<Finding> all;
    for (const DoctorFinding& made : result.findings)
        all.push_back(made.finding);
    out += factList(factsOf(about),
        term("Found", findingCountText(all) + (result.stopped ? "; stopped, not complete" : ""))
            + term("Depth", checkDepthName(result.depth)) + term("Intended use", useText(result))
            + term("Not read", notReadText(result)));
    for (auto next = result.findings.begin(); next != result.findings.end();) {
        const auto end = std::find_if(next, result.findings.end(), [&](const DoctorFinding& other) {
            return other.finding.code != next->finding.code
                || other.finding.severity != next->finding.severity;
        });
        out += card(next, end);
        next = end;
    }
    return out;
}

} // namespace

std::string htmlReport(
    const std::vector<CheckResult>& results, std::optional<CheckDepth> depth, const ReportHead& head)
{
    std::string out = "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                      "<title>Checkpoint findings</title>\n<style>"
        + std::string(kStyle) + "</style>\n</head>\n<body>\n<h1>Checkpoint findings</h1>\n"
        + factList(factsOf(head), term("Depth asked for", depth ? checkDepthName(*depth) : "auto"));
    for (size_t i = 0; i < results.size(); ++i)
        out += resultText(results[i], head.about[i]);
    return out + "</body>\n</html>\n";
}

} // namespace shardscope
