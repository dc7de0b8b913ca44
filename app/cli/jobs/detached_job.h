// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/cli/jobs/session.h"
#include "core/jobs/job_store.h"

#include <string>

namespace shardscope::cli {

/// "shardscope jobs node7: --attach 1234abcd"; without a host, of this machine.
std::string jobsCommand(const std::string& host, const std::string& option, const std::string& id);

/// Usage for a command that cannot run as a job of its own: one that only reads, or with files that somebody
/// else has.
Status requireJob(const Parsed& parsed);
/// Records the command and starts it on this machine.
Result<jobs::JobEntry> startDetached(const Parsed& parsed, const Output& output, io::FileSystem& files);

/// Shows a job of this machine until it ends: messages, progress, its answer. Returns its exit status.
/// Cancelled if its process ended without one, and when the session is stopped, which does not stop the job.
Result<int> attachTo(Session& session, const jobs::JobStore& store, const std::string& id);

} // namespace shardscope::cli
