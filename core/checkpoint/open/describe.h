// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/folder/reading_state.h"

namespace shardscope {

struct RunListing;

/// What is known about a native checkpoint's optimizer files after opening them.
struct OptimizerFiles {
    size_t count = 0;
    FileId guide = kNoFile; ///< the file that was read first
    bool zero3 = false;
};

/// Fills Checkpoint::optimizer (names of the states) and lossScale.
void describeOptimizer(Reading& reading);
/// Adds to Checkpoint::evidence why the checkpoint is of its kind.
void describeEvidence(Reading& reading, const OptimizerFiles& optimizers);
/// Adds a note, not an error: scripts that ask for a healthy checkpoint must not stop at each release of
/// DeepSpeed.
void noteNewerRelease(Checkpoint& out);
/// Adds the findings about unfinished work. `listing`: of the run folder, or null.
void addUnfinishedWork(io::FileSystem& files, const RunListing* listing, Checkpoint& out);

} // namespace shardscope
