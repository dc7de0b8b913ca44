// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/plan/repair/repair.h"
#include "core/report/answers/finding_report.h"
#include "core/report/text/text_table.h"

#include <optional>
#include <string>
#include <vector>

namespace shardscope {

/// The check of the repaired copy compared with the check of its source.
struct RepairCheck {
    std::vector<std::string> remaining; ///< codes that should be repaired and are still found
    std::vector<Finding> appeared; ///< new codes, above info
    std::vector<Finding> causedBySet; ///< new codes caused by values that --set changed on purpose
    [[nodiscard]] bool ok() const { return remaining.empty() && appeared.empty(); }
};
/// `marked` is expected if something was reconstructed.
RepairCheck compareChecks(const WritePlan& plan, const CheckResult& after);

/// What is known of a repair after its run.
struct RepairOutcome {
    std::optional<RepairCheck> check = {};
    std::optional<bool> checkedAgain = {}; ///< false: the check was stopped
};

void describe(auto& out, const RepairChange& change)
{
    out.is("Change", "One change of a repair.");
    out.field("code", change.code);
    out.textOrNull("where", change.where.text());
    out.field("what", change.what);
    out.textOrNull("before", change.before);
    out.textOrNull("after", change.after);
    out.field("marked", change.reconstructed, "reconstructed, not read from a file");
}

void describe(auto& out, const RepairCheck& check)
{
    out.is("RepairCheck", "The check after a repair.");
    out.field("ok", check.ok());
    out.field("remaining", check.remaining);
    out.field("appeared", check.appeared);
    out.field("told", check.causedBySet);
}

/// The changes, value by value.
void writeChangesText(const TextSink& sink, const TextStyle& style, const WritePlan& plan);
void writeRepairCheckText(const TextSink& sink, const TextStyle& style, const RepairCheck& check);

} // namespace shardscope
