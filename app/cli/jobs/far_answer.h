// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/cli/frame/arguments.h"
#include "app/cli/frame/output.h"
#include "core/base/job_context.h"

#include <optional>

namespace shardscope::cli {

/// Lets the host of a command's paths answer it: a command that only reads, whose checkpoints are all on one
/// other host. So no payload is sent here, and the answer is that of a command there: its paths are those of
/// the host. Writes the answer, a report that was asked for, and messages; the exit status is the command's.
///
/// Nothing where the command must run here, with the far files: it writes, it has checkpoints on several
/// hosts, or it needs files of this machine. Errors: those of far::FarHost::ask().
Result<std::optional<int>> answerThere(const Parsed& parsed, Output& output, JobContext& job);

} // namespace shardscope::cli
