// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/plan/repair/repair.h"
#include "core/report/json/json_writer.h"
#include "core/report/text/text_table.h"

#include <optional>
#include <string>
#include <vector>

namespace shardscope {

/// What a check of the repaired copy shows beside one of its source.
struct RepairCheck {
    std::vector<std::string> remaining; ///< codes that were to be repaired and are still found
    std::vector<Finding> appeared; ///< above info, of codes that the source did not have
    std::vector<Finding>
        told; ///< the same, where reviewed values were set that differ from those beside them
    [[nodiscard]] bool ok() const { return remaining.empty() && appeared.empty(); }
};
/// `marked` is expected where something was reconstructed.
RepairCheck compareChecks(const RepairPlan& plan, const CheckResult& after);

/// Fields of the answer of `repair`: "fixed", "changes" and, once it was run, "check".
void writeRepairFields(JsonWriter& json, const RepairPlan& plan, const std::optional<RepairCheck>& check);
/// What changes, value by value.
void writeChangesText(const TextSink& sink, const TextStyle& style, const RepairPlan& plan);
void writeRepairCheckText(const TextSink& sink, const TextStyle& style, const RepairCheck& check);

} // namespace shardscope
