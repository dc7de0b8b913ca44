// SPDX-License-Identifier: Apache-2.0
#pragma once

// Folder core/compare/health: whether a training state looks sound, by layer and over the tags of a run.
// Start with computeHealth(), then findAlarms() (health_alarms.h) and HealthHistory (health_history.h).

#include "core/base/job_context.h"
#include "core/checkpoint/model/checkpoint.h"
#include "core/compare/health/health_row.h"
#include "core/compute/workers.h"

#include <functional>
#include <string>
#include <vector>

namespace shardscope {

/// Gets the row of one parameter.
using HealthTake = std::function<Status(ParamId, const HealthRow&)>;

struct HealthRequest {
    const Checkpoint& checkpoint;
    std::vector<ParamId> params; ///< see healthParams()
    bool exact = false; ///< otherwise large tensors are sampled
};

/// Every parameter but buffers and aliases.
std::vector<ParamId> healthParams(const Checkpoint& checkpoint);

/// Health of parameters, passed on one by one in the requested order. A sample is up to 16 runs of 1,024
/// elements, fewer where there are very many parameters: the same ones in every checkpoint of the same
/// parameters. Sums do not depend on the number of jobs. Memory: 1 MiB per state and job. Elements that
/// cannot be read are counted.
Status computeHealth(io::FileSystem& files, const HealthRequest& request, const Workers& workers,
    JobContext& job, const HealthTake& take);

/// What one rank stores, as a digest of some elements of its optimizer state: a rank whose digest did not
/// change between two tags was not trained, if those of others did.
struct RankSample {
    RankCoordinate rank;
    std::string digest; ///< empty: nothing of it could be read, or it is all zeros
};
/// `isWhole` becomes false if a file could not be read.
Result<std::vector<RankSample>> sampleRanks(
    io::FileSystem& files, const Checkpoint& checkpoint, JobContext& job, bool& isWhole);

} // namespace shardscope
