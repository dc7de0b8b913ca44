// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/job_context.h"
#include "core/checkpoint/checkpoint.h"
#include "core/plan/write_plan.h"

#include <optional>

namespace shardscope {

class Refills;

/// Native: one file per rank, what `engine.load_checkpoint` reads. Universal: one folder per parameter, read
/// with
/// `"checkpoint": {"load_universal": true}` by any number of ranks.
enum class TargetForm { Native, Universal };

struct ReshardOptions {
    uint32_t worldSize = 0; ///< target ranks, 1 to 1,024 and beyond; required for native targets
    TargetForm form = TargetForm::Native;
    std::optional<int> stage = {}; ///< ZeRO stage of a native target, 0 to 3; default the source's
                                   ///< (universal: that it was made from)
    /// Stage 0: Torch, Fp16 or Fp16Unfused, which depends on the new run's optimizer; default as the source
    /// tells.
    std::optional<CheckpointKind> stage0Form = {};
    std::optional<uint32_t> tp = {}; ///< tensor slices of a native target; default the source's
    std::optional<uint32_t> pp = {}; ///< the same of pipeline stages
    /// The first layer of every stage of the target, and the number of layers (checkpoint/cut_stages.h).
    std::vector<uint32_t> stageLayers = {};
    std::vector<std::string> tiedLayers = {}; ///< "KEY=LAYER,LAYER…": which layers use a tied module
    std::vector<std::string> ties = {}; ///< "NAME=OWNER" (plan/named_ties.h)
    /// How tensor slices join and are cut, as JSON text (slice_rules.h); default as the checkpoint records.
    std::optional<std::string> patterns = {};
    /// Rows of a vocabulary's tensors in all slices of the target together, padding included.
    std::optional<uint64_t> paddedVocabulary = {};
    std::optional<uint32_t> ep = {}; ///< expert-parallel ranks of a native target; default the source's
    std::optional<uint64_t> subGroupSize
        = {}; ///< ZeRO-3 targets, elements per rank; default the source's, else 1e9
    /// Options of param groups that the source does not hold, "[GROUP:]KEY=VALUE" (core/plan/named_option.h).
    std::vector<std::string> optimizerOptions = {};
    std::string tagOut = {}; ///< empty: the source's tag
    bool writePointer = true; ///< write `latest`
    /// A target of stage 1 or 2 from a source that stores matrices column by column (Checkpoint::zenflow):
    /// row by row. Default as the source; other targets have no such form.
    bool rowMajor = false;
    std::vector<std::string> allow = {}; ///< finding codes accepted although they block

    bool operator==(const ReshardOptions&) const = default;
};

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
    /// What is laid out anew: the source, its slices or stages joined or cut where the target has others.
    [[nodiscard]] virtual CheckpointPtr laidOut() const = 0;
    /// The target's flat units, for drawing the new map beside the old one. Their parameters are laidOut()'s.
    [[nodiscard]] virtual std::vector<FlatUnit> targetUnits() const = 0;
    [[nodiscard]] virtual const ReshardOptions& options() const = 0;
};

/// Unsupported for kinds this build cannot rewrite; Refused when findings make the result wrong (names them);
/// Usage for impossible options. Nothing is written.
Result<std::shared_ptr<const ReshardPlan>> planReshard(
    io::FileSystem& files, CheckpointPtr source, const ReshardOptions& options, JobContext& job);
/// The same for a source that was mended in memory (core/plan/repair.h): what it has lost comes from
/// `refills`, one for each of the source's parts, or the only one; null where nothing is lost.
Result<std::shared_ptr<const ReshardPlan>> planReshard(io::FileSystem& files, CheckpointPtr source,
    const ReshardOptions& options, const std::vector<std::shared_ptr<Refills>>& refills, JobContext& job);

} // namespace shardscope
