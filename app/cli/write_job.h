// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/cli/session.h"
#include "core/plan/reshard.h"

#include <memory>
#include <string>

/// What the verbs that write a checkpoint have in common.
namespace shardscope::cli {

/// A plan and where it comes from and goes to.
struct WriteJob {
    std::shared_ptr<const ReshardPlan> plan;
    CheckpointPtr source;
    std::string destination; ///< DST as given
};

/// --jobs as a number of threads; the machine's default without it. Usage for 0 and for absurd numbers.
Result<unsigned> jobsAsked(const Arguments& arguments);

/// Opens SRC and plans; Unsupported names what this build cannot do (stage 0, tensor parallelism, …).
Result<WriteJob> planReshardJob(Session& session);
Result<WriteJob> planConvertJob(Session& session);

/// planReshard(), with damage in the source as a refusal.
Result<std::shared_ptr<const ReshardPlan>> planFor(
    const Session& session, const CheckpointPtr& source, const ReshardOptions& options);

/// Shows the plan and, unless --dry-run, runs it; prints the answer of `verb`.
Result<int> runWriteJob(Session& session, const WriteJob& job, const std::string& verb);

} // namespace shardscope::cli
