// SPDX-License-Identifier: Apache-2.0
#pragma once

// Room core/plan: plans that write a checkpoint or an export: every byte is determined before anything is
// written.
//
// Folder core/plan/reshard: plans a checkpoint for another number of ranks, stage or form. Start with
// planReshard(), which checks the source and makes a plan with ReshardFacts.

#include "core/base/job_context.h"
#include "core/checkpoint/model/checkpoint.h"
#include "core/plan/model/write_plan.h"
#include "core/plan/target/reshard_options.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace shardscope {

class Refills;

/// Micro-batch and accumulation that keep the global batch at the new world size.
struct BatchPair {
    uint64_t microBatch = 0;
    uint64_t accumulation = 0;
};

/// The facts of a plan that rewrites a checkpoint for another number of ranks, stage or form: what the user
/// should know first.
struct ReshardFacts {
    ReshardOptions options;
    uint32_t worldSize = 0;
    CheckpointKind kind = CheckpointKind::Unknown; ///< of the target
    std::optional<uint64_t> subGroupSize = {}; ///< ZeRO-3
    std::vector<BatchPair> batch = {};
    /// Config keys that must not change between source run and resumed run, with their values as text.
    std::vector<std::pair<std::string, std::string>> mustStayEqual = {};
    /// The checkpoint that the target is laid out from: the source, its slices or stages merged or split if
    /// the target has others.
    CheckpointPtr laidOut = {};
    /// Makes the target's flat units, for drawing the new map next to the old one. Their parameters are
    /// laidOut's.
    std::function<std::vector<FlatUnit>()> targetUnits = {};
};

/// Unsupported for kinds this build cannot rewrite; Refused when findings make the result wrong (names them);
/// Usage for impossible options. Nothing is written.
Result<WritePlanPtr> planReshard(
    io::FileSystem& files, CheckpointPtr source, const ReshardOptions& options, JobContext& job);
/// The same for a source that was repaired in memory (core/plan/repair/repair.h): what it has lost comes from
/// `refills`, one for each of the source's parts, or the only one; null where nothing is lost.
Result<WritePlan> planReshard(io::FileSystem& files, CheckpointPtr source, const ReshardOptions& options,
    const std::vector<std::shared_ptr<Refills>>& refills, JobContext& job);

} // namespace shardscope
