// SPDX-License-Identifier: Apache-2.0
#pragma once

// Room core/plan/reshard: plans a checkpoint for another number of ranks, stage or form. It uses
// core/plan/{emit,target,model}, core/compare/digest, core/checkpoint/{slices,model} and lower rooms. Start
// with planReshard(), which checks the source and makes a ReshardPlan.

#include "core/base/job_context.h"
#include "core/checkpoint/model/checkpoint.h"
#include "core/plan/model/write_plan.h"
#include "core/plan/target/reshard_options.h"

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

/// A plan that rewrites a checkpoint for another number of ranks, stage or form, with what the user should
/// know first.
class ReshardPlan : public WritePlan
{
public:
    [[nodiscard]] virtual uint32_t worldSize() const = 0;
    [[nodiscard]] virtual CheckpointKind targetKind() const = 0;
    [[nodiscard]] virtual std::optional<uint64_t> subGroupSize() const = 0; ///< ZeRO-3
    [[nodiscard]] virtual const std::vector<BatchPair>& batch() const = 0;
    /// Config keys that must not change between source run and resumed run, with their values as text.
    [[nodiscard]] virtual const std::vector<std::pair<std::string, std::string>>& mustStayEqual() const = 0;
    /// The checkpoint that the target is laid out from: the source, its slices or stages merged or split if
    /// the target has others.
    [[nodiscard]] virtual CheckpointPtr laidOut() const = 0;
    /// The target's flat units, for drawing the new map next to the old one. Their parameters are
    /// laidOut()'s.
    [[nodiscard]] virtual std::vector<FlatUnit> targetUnits() const = 0;
    [[nodiscard]] virtual const ReshardOptions& options() const = 0;
};

/// Unsupported for kinds this build cannot rewrite; Refused when findings make the result wrong (names them);
/// Usage for impossible options. Nothing is written.
Result<std::shared_ptr<const ReshardPlan>> planReshard(
    io::FileSystem& files, CheckpointPtr source, const ReshardOptions& options, JobContext& job);
/// The same for a source that was repaired in memory (core/plan/repair/repair.h): what it has lost comes from
/// `refills`, one for each of the source's parts, or the only one; null where nothing is lost.
Result<std::shared_ptr<const ReshardPlan>> planReshard(io::FileSystem& files, CheckpointPtr source,
    const ReshardOptions& options, const std::vector<std::shared_ptr<Refills>>& refills, JobContext& job);

} // namespace shardscope
