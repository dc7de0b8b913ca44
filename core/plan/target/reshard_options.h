// SPDX-License-Identifier: Apache-2.0
#pragma once

// Folder core/plan/target: what the options of a reshard mean for a source: kind, flat units and options of
// the target, without its files. Start with ReshardOptions, then layOutTarget().

#include "core/checkpoint/model/checkpoint.h"
#include "core/checkpoint/model/model_states.h"
#include "core/describe/option.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shardscope {

/// Native: one file per rank, what `engine.load_checkpoint` reads. Universal: one folder per parameter, read
/// with
/// `"checkpoint": {"load_universal": true}` by any number of ranks.
enum class TargetForm { Native, Universal };

struct ReshardOptions {
    uint32_t worldSize = 0; ///< target ranks, 1 to 1,024 and beyond; required for native targets
    TargetForm form = TargetForm::Native;
    std::optional<int> stage = {}; ///< ZeRO stage of a native target, 0 to 3; default the source's
                                   ///< (universal: that it was made from)
    /// Stage 0: Torch, Fp16 or Fp16Unfused, which depends on the optimizer of the new run; default: as the
    /// source records.
    std::optional<CheckpointKind> stage0Form = {};
    std::optional<uint32_t> tp = {}; ///< tensor slices of a native target; default the source's
    std::optional<uint32_t> pp = {}; ///< the same of pipeline stages
    /// The first layer of every stage of the target, and the number of layers
    /// (core/layout/slices/split_stages.h).
    std::vector<uint32_t> stageLayers = {};
    std::vector<std::string> tiedLayers = {}; ///< "KEY=LAYER,LAYER…": which layers use a tied module
    std::vector<std::string> ties = {}; ///< "NAME=OWNER" (core/plan/compose/named_ties.h)
    /// How tensor slices are merged and split, as JSON text (slice_rules.h); default as the checkpoint
    /// records.
    std::optional<std::string> patterns = {};
    /// Rows of a vocabulary's tensors in all slices of the target together, padding included.
    std::optional<uint64_t> paddedVocabulary = {};
    std::optional<uint32_t> ep = {}; ///< expert-parallel ranks of a native target; default the source's
    std::optional<uint64_t> subGroupSize
        = {}; ///< ZeRO-3 targets, elements per rank; default the source's, else 1e9
    /// Options of param groups that the source does not hold, "[GROUP:]KEY=VALUE"
    /// (core/plan/target/named_option.h).
    std::vector<std::string> optimizerOptions = {};
    std::string tagOut = {}; ///< empty: the source's tag
    bool writePointer = true; ///< write `latest`
    /// A target of stage 1 or 2 from a source that stores matrices column by column (Checkpoint::zenflow):
    /// row by row. Default as the source; other targets have no such form.
    bool rowMajor = false;
    std::vector<std::string> allow = {}; ///< finding codes accepted although they block

    bool operator==(const ReshardOptions&) const = default;
};

/// The table of the options. It refers to `of`, which must live as long.
OptionFields fieldsOf(ReshardOptions& of);

/// What the options mean for a source, and whether they can be met. All are pure.

/// The source's template model file. Empty, so that nothing is configured, if it is not readable.
ModelStates readableModel(const Checkpoint& source);
/// Usage for values that are no world size, stage, tag or sub-group size.
Status checkOptions(const Checkpoint& source, const ReshardOptions& options);
/// The kind of the target. A source's own stage keeps its own kind (BF16_Optimizer stays); a universal
/// source's is the one it was made from. Usage when it is not recorded and none is named. Of stage 0: see
/// stage0KindOf().
Result<CheckpointKind> targetKindOf(const Checkpoint& source, const ReshardOptions& options);
/// Whether slices or stages are merged before the target is laid out.
bool mergesParts(const Checkpoint& source, const ReshardOptions& options);
/// Whether the target keeps what tensor, pipeline and expert parallel ranks need: Usage where the ranks do
/// not divide, Unsupported for forms that would have to join or split them.
Status checkParallel(const Checkpoint& source, CheckpointKind target, const ReshardOptions& options);
/// For ZeRO-3 targets: as asked, as the source was partitioned, as its ds_config says, or DeepSpeed's
/// default; else 0. Refused when a ZeRO-3 source does not record it.
Result<uint64_t> chooseSubGroupSize(
    const Checkpoint& source, CheckpointKind target, const ReshardOptions& options);
/// Whether the target's groups are in round-robin order: as in the source where it has one, else as its
/// configuration asks of stages 1 and 2.
bool targetRoundRobin(const Checkpoint& source, CheckpointKind target);
/// The tag's folder name: universal ones end in "_universal", native ones do not.
std::string targetTag(const Checkpoint& source, const ReshardOptions& options);
/// Whether the source records everything that rebuilt files need: options of every group, a version, names
/// that a universal folder can have. Refused, naming what is missing.
Status requireModelFacts(const Checkpoint& source, CheckpointKind target);

} // namespace shardscope
