// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/cli/jobs/compute_device.h"
#include "app/cli/jobs/session.h"
#include "core/engine/write/execute.h"
#include "core/io/stream_file.h"
#include "core/layout/slices/slice_rules.h"
#include "core/plan/export/export.h"
#include "core/plan/reshard/reshard.h"
#include "core/plan/saved/saved_plan.h"
#include "core/report/answers/repair_report.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

/// Common code of the verbs that write.
namespace shardscope::cli {

/// A plan with its source and destination.
struct WriteJob {
    WritePlanPtr plan;
    CheckpointPtr source;
    std::string destination; ///< DST as given
    io::Path folder; ///< the parent folder of the plan's target: DST, or the parent of DST
    std::function<RepairOutcome()> repaired = {}; ///< PlanContext::repaired
    /// Checks the output before the answer is given. Its exit code becomes that of the command.
    std::function<Result<int>(const ExecuteReport&)> afterwards = {};
};

/// The slice rules of --patterns; empty without the option. Errors: see SliceRules::fromJson().
Result<std::optional<SliceRules>> rulesAsked(const Session& session);

/// Opens SRC and plans. Unsupported errors name what this build cannot do.
Result<WriteJob> planReshardJob(Session& session);
Result<WriteJob> planConvertJob(Session& session);

/// Reads a saved plan and plans it again. `destination`: DST; becomes the saved one where it is empty.
Result<PlannedAgain> planSavedAgain(Session& session, const std::string& path, std::string& destination);

/// The number in --to. Usage if it is none.
Result<int> descriptorNumber(const std::string& text);
/// The descriptor, for bytes of the plan's output. Usage if it is not open for writing, a terminal, or a file
/// of the source.
Result<io::StreamFile> streamTo(int descriptor, const WritePlan& plan);

/// Shows the plan and, unless --dry-run, runs it; prints the answer of `verb`.
Result<int> runWriteJob(Session& session, const WriteJob& job, const std::string& verb);

} // namespace shardscope::cli
