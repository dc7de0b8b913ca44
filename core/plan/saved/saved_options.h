// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/plan/export/export.h"
#include "core/plan/repair/repair.h"
#include "core/plan/target/reshard_options.h"

#include <string>

namespace shardscope {

/// The options of a plan as written in the file of a saved plan: the text of a JSON object.
std::string optionsText(const ReshardOptions& options);
std::string optionsText(const ExportOptions& options);
std::string optionsText(const RepairOptions& options);
/// The inverse. Throws as getText() (core/plan/model/saved_text.h); parseSavedPlan() turns that into an
/// Error.
ReshardOptions readReshardOptions(const std::string& text);
ExportOptions readExportOptions(const std::string& text);
RepairOptions readRepairOptions(const std::string& text);

} // namespace shardscope
