// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/cli/jobs/compute_device.h"
#include "app/cli/jobs/session.h"
#include "core/checkpoint/slices/slice_rules.h"
#include "core/engine/write/execute.h"
#include "core/plan/export/export.h"
#include "core/plan/reshard/reshard.h"
#include "core/report/json/json_writer.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

/// What the verbs that write have in common.
namespace shardscope::cli {

/// A plan and where it comes from and goes to.
struct WriteJob {
    std::variant<std::shared_ptr<const ReshardPlan>, std::shared_ptr<const ExportPlan>,
        std::shared_ptr<const WritePlan>>
        plan; ///< the last: a copy
    CheckpointPtr source;
    std::string destination; ///< DST as given
    io::Path folder; ///< that the plan's target comes into: DST, or what DST lies in
    std::function<void(JsonWriter&)> more = {}; ///< PlanContext::more
    /// Looks at what was written before the answer is given; its exit code is the command's.
    std::function<Result<int>(const ExecuteReport&)> afterwards = {};

    [[nodiscard]] const WritePlan& writePlan() const
    {
        return std::visit([](const auto& held) -> const WritePlan& { return *held; }, plan);
    }
};

/// --patterns read as rules of slices; nothing without it. Errors as SliceRules::fromJson().
Result<std::optional<SliceRules>> rulesAsked(const Session& session);
/// --allow, each of which must be a finding's code.
Result<std::vector<std::string>> allowedCodes(const Arguments& arguments);
/// The text of the file that --patterns names; nothing without it.
Result<std::optional<std::string>> patternsText(const Session& session);

/// Opens SRC and plans; Unsupported names what this build cannot do (stage 0, tensor parallelism, …).
Result<WriteJob> planReshardJob(Session& session);
Result<WriteJob> planConvertJob(Session& session);

/// planReshard(), with damage in the source as a refusal.
Result<std::shared_ptr<const ReshardPlan>> planFor(
    const Session& session, const CheckpointPtr& source, const ReshardOptions& options);

/// Damage in a source that opened is a reason to refuse (exit 6), not one to call the source no checkpoint
/// (exit 3).
Error refusal(Error error);

/// Shows the plan and, unless --dry-run, runs it; prints the answer of `verb`.
Result<int> runWriteJob(Session& session, const WriteJob& job, const std::string& verb);

} // namespace shardscope::cli
