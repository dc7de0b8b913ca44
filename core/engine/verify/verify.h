// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/finding.h"
#include "core/base/job_context.h"
#include "core/checkpoint/model/checkpoint.h"
#include "core/checkpoint/slices/slice_rules.h"
#include "core/tensor/workers.h"

#include <optional>
#include <vector>

namespace shardscope {

struct VerifyReport {
    bool ok = false;
    bool manifest = false; ///< a shardscope.json was found and compared
    uint64_t files = 0;
    uint64_t bytes = 0;
    std::string fingerprint; ///< of the whole training state
    std::vector<Finding> problems;
};

/// Re-reads every byte of a checkpoint: CRC of every record, structure of every file, SHA-256 against the
/// manifest where there is one, and, with `against`, every parameter and state against that checkpoint
/// whatever its world size. Where the two differ in slices or stages, both are joined (same_degrees.h),
/// slices by `rules` if there are any. Of weights, which have no state, those that an export wrote, by its
/// manifest; Unsupported for others.
Result<VerifyReport> verifyCheckpoint(io::FileSystem& files, const CheckpointPtr& checkpoint,
    const CheckpointPtr& against, const Workers& workers, JobContext& job, const SliceRules* rules = nullptr);

} // namespace shardscope
