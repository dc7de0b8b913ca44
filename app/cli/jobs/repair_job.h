// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/cli/jobs/session.h"
#include "core/plan/repair/repair.h"

#include <string>

namespace shardscope::cli {

/// Examines SRC and plans what the options ask for; damage in the source becomes a refusal.
Result<WritePlanPtr> planRepairAsked(Session& session);
/// Shows the changes, writes into `destination`, checks the output again, and prints the answer of `verb`.
Result<int> runRepairPlan(
    Session& session, const WritePlanPtr& plan, const std::string& destination, const std::string& verb);

} // namespace shardscope::cli
