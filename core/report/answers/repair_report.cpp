// SPDX-License-Identifier: Apache-2.0
#include "core/report/answers/repair_report.h"

#include "core/base/finding_codes.h"
#include "core/report/answers/finding_report.h"
#include "core/report/text/printable.h"

#include <algorithm>
#include <array>

namespace shardscope {

RepairCheck compareChecks(const WritePlan& plan, const CheckResult& after)
{
    constexpr std::array<std::string_view, 3> kOfValues{
        "step-off-counters", "schedule-discontinuity", "loss-scale-minimum"};
    const std::vector<std::string>& fixed = plan.repair->fixed;
    const bool valuesWereSet = std::any_of(plan.repair->changes.begin(), plan.repair->changes.end(),
        [](const RepairChange& change) { return change.code == kSetCode; });
    RepairCheck out;
    for (const DoctorFinding& made : after.findings) {
        const Finding& finding = made.finding;
        if (finding.severity == Severity::Info || finding.code == code::kMarked)
            continue;
        const std::string code(finding.code);
        if (std::find(fixed.begin(), fixed.end(), code) != fixed.end()) {
            if (std::find(out.remaining.begin(), out.remaining.end(), code) == out.remaining.end())
                out.remaining.push_back(code);
            continue;
        }
        if (plan.repair->found.contains(finding.code))
            continue;
        const bool ofValues
            = valuesWereSet && std::find(kOfValues.begin(), kOfValues.end(), finding.code) != kOfValues.end();
        (ofValues ? out.causedBySet : out.appeared).push_back(finding);
    }
    return out;
}

void writeChangesText(const TextSink& sink, const TextStyle& style, const WritePlan& plan)
{
    sink(style.bold("changes") + "\n");
    for (const RepairChange& change : plan.repair->changes) {
        sink("  " + printable(change.where.isEmpty() ? std::string("checkpoint") : change.where.text()) + ": "
            + printable(change.what) + " " + style.dim("[" + std::string(change.code) + "]")
            + (change.reconstructed ? " " + style.yellow("marked") : std::string()) + "\n");
        if (!change.before.empty() || !change.after.empty())
            sink("    " + printable(change.before) + " → " + printable(change.after) + "\n");
    }
}

void writeRepairCheckText(const TextSink& sink, const TextStyle& style, const RepairCheck& check)
{
    if (!check.causedBySet.empty())
        sink("Values that were set differ from related values. `check` will report this:\n");
    writeFindingsText(sink, style, check.causedBySet, "  ");
    if (check.ok()) {
        sink(style.green("checked again") + ": fixed findings are gone; no new findings\n");
        return;
    }
    for (const std::string& code : check.remaining)
        sink(style.red("still found") + ": " + code + "\n");
    if (!check.appeared.empty())
        sink(style.red("newly found") + ":\n");
    writeFindingsText(sink, style, check.appeared, "  ");
}

} // namespace shardscope
