// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/cli/frame/arguments.h"
#include "app/cli/frame/output.h"
#include "core/base/job_context.h"

#include <optional>

namespace shardscope::cli {

/// Runs a command whose target is on another host as a job of its own there, and shows it until it ends; and
/// asks another host for `jobs`. Nothing where the command is for this machine.
///
/// Ctrl+C is passed on, and the end of the job is awaited; other signals, and a lost connection, end only the
/// view. Then the error says how to see the job again: Cancelled, Unreadable.
Result<std::optional<int>> runJobThere(const Parsed& parsed, Output& output, JobContext& job);

} // namespace shardscope::cli
