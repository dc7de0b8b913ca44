// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/cli/jobs/session.h"
#include "core/compute/compute_choice.h"
#include "core/compute/workers.h"

namespace shardscope::cli {

/// The number of threads in --jobs, or the machine's default. Error: Usage for 0 and for too large numbers.
Result<unsigned> jobsAsked(const Arguments& arguments);

/// The device that --device asks for, for this task and amount of data. The log says which was chosen and
/// why. Measurements are kept in shardscope/compute.txt in the user's cache.
Result<ComputeChoice> computeAsked(const Session& session, ComputeTask task, uint64_t bytes, unsigned jobs);

/// Bytes of all of a checkpoint's files.
uint64_t bytesOf(const Checkpoint& checkpoint);

} // namespace shardscope::cli
