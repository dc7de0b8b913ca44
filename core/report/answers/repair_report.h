// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/plan/repair/repair.h"
#include "core/report/json/json_writer.h"
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

/// Fields of the answer of `repair`: "fixed", "changes" and, after the run, "check".
void writeRepairFields(JsonWriter& json, const WritePlan& plan, const std::optional<RepairCheck>& check);
/// The changes, value by value.
void writeChangesText(const TextSink& sink, const TextStyle& style, const WritePlan& plan);
void writeRepairCheckText(const TextSink& sink, const TextStyle& style, const RepairCheck& check);

} // namespace shardscope
