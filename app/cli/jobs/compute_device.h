// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/cli/jobs/session.h"
#include "core/tensor/compute_choice.h"
#include "core/tensor/workers.h"

namespace shardscope::cli {

/// --jobs as a number of threads; the machine's default without it. Usage for 0 and for absurd numbers.
Result<unsigned> jobsAsked(const Arguments& arguments);

/// What --device asks for, for so many bytes of such work. The log says what was taken and why. Figures are
/// kept in shardscope/compute.txt of the user's cache.
Result<ComputeChoice> computeAsked(const Session& session, ComputeTask task, uint64_t bytes, unsigned jobs);

/// Bytes of all of a checkpoint's files.
uint64_t bytesOf(const Checkpoint& checkpoint);

} // namespace shardscope::cli
