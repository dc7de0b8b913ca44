// SPDX-License-Identifier: Apache-2.0
#pragma once

// Folder core/plan/emit: composes each file of a rewritten checkpoint, one kind of file at a time. Start with
// ReshardContext; target_files.h lists the files.

#include "core/checkpoint/model/checkpoint.h"
#include "core/compare/digest/tensor_table.h"
#include "core/plan/compose/archive_composer.h"
#include "core/plan/compose/refills.h"
#include "core/plan/compose/segment_cursors.h"
#include "core/plan/compose/wrapper_carry.h"
#include "core/plan/target/reshard_options.h"
#include "core/plan/target/reshard_target.h"

#include <memory>
#include <string_view>
#include <vector>

namespace shardscope {

/// What the parts of a reshard plan share. Immutable once made; thread-safe.
struct ReshardContext {
    CheckpointPtr source;
    ReshardTarget target;
    std::vector<PlanSource> sources;
    std::shared_ptr<const std::vector<uint32_t>> sourceOfFile; ///< FileId → index into sources
    std::shared_ptr<const TensorTable> table; ///< numbers the source's tensors
    std::vector<PlanTensor> tensors; ///< what the target holds
    std::vector<uint32_t>
        planOfTable; ///< table → tensors, Segment::kNoTensor for what the target does not keep
    /// Parameter → index into tensors of the 16-bit copy that is made from its master; empty when none is.
    std::vector<uint32_t> newWeights;
    /// The files are made from the model; else they follow the source's own, key by key.
    bool rebuilds = false;
    bool rebuildsModel = false; ///< the model files alone; true where `rebuilds` is
    std::vector<OutputRecord> optimRecords; ///< small records of the rank-0 templates
    std::vector<OutputRecord> modelRecords;
    std::optional<StorageUse> modelUse; ///< of the template, where most of it is storage that nothing uses
    /// Files that go along as they are: weights of pipeline layers and of experts, with their small records.
    struct Copied {
        FileId file = kNoFile;
        std::vector<OutputRecord> records = {};
        std::optional<StorageUse> use = {}; ///< as modelUse
        const ModelFiles::Expert* made = nullptr; ///< what is made in the form of `file`; null: `file` itself
    };
    std::vector<Copied> copied;
    std::vector<CarriedFile> carried; ///< the framework's files next to the tag, in the order of their names

    std::shared_ptr<const Refills> refills; ///< of a repair, else null

    [[nodiscard]] const TorchFile& optimTemplate() const
    {
        return *source->file(source->templateOptim).content;
    }
    [[nodiscard]] const TorchFile& modelTemplate() const
    {
        return *source->file(source->templateModel).content;
    }
    [[nodiscard]] uint32_t sourceIndex(FileId file) const { return (*sourceOfFile)[index(file)]; }
    [[nodiscard]] int stage() const { return traitsOf(target.kind).stage.value_or(1); }
    /// Index into tensors of a state that is in a unit of the source.
    [[nodiscard]] uint32_t tensorOf(ParamId param, uint32_t state) const
    {
        return planOfTable[table->indexOf(param, state)];
    }
    /// The cursor of one target unit's state on one dp rank that has a share of it, and its length in
    /// elements.
    [[nodiscard]] FlatTarget flatTarget(uint32_t unit, uint32_t state, uint32_t rank) const;
};

/// Fills sources, tensors and templates for a complete checkpoint and a laid-out target. `rebuilds` as above.
/// `carriesFrom`: the whole checkpoint, whose files next to the tag are copied; null where another part takes
/// them. `refills`: the origin of what the source has lost; gets the places of its files.
Result<std::shared_ptr<const ReshardContext>> makeReshardContext(io::FileSystem& files, CheckpointPtr source,
    ReshardTarget target, bool rebuilds, const Checkpoint* carriesFrom, JobContext& job,
    const std::shared_ptr<Refills>& refills = nullptr);

/// Bytes of tensors that are read. What a repair's source has lost is counted where it is read.
uint64_t tensorBytesRead(const ReshardContext& context);

/// One optimizer file of a target that is not universal. `rank` is the target's, `name` the file's.
Result<OutputFile> composeOptimFile(
    const std::shared_ptr<const ReshardContext>& context, uint32_t rank, const std::string& name);
/// One model file of any target. `slim`: the one of a universal folder for stage 3, which reads the counters
/// only.
Result<OutputFile> composeModelFile(
    const std::shared_ptr<const ReshardContext>& context, uint32_t rank, bool slim, const std::string& name);
/// One of the files that go along, in torch's form as all that is written.
Result<OutputFile> composeCopied(
    const std::shared_ptr<const ReshardContext>& context, uint32_t copied, const std::string& name);

/// The files of a universal folder (deepspeed/checkpoint/ds_to_universal.py), in the form that all stages
/// load.
Result<OutputFile> composeUniversalState(const std::shared_ptr<const ReshardContext>& context, uint32_t unit,
    uint32_t param, uint32_t state, const std::string& name);
Result<OutputFile> composeUniversalStep(
    const std::shared_ptr<const ReshardContext>& context, uint32_t unit, const std::string& name);
Result<OutputFile> composeUniversalOptim(
    const std::shared_ptr<const ReshardContext>& context, const std::string& name);

/// Splits what a composer copies from a source file at the bounds of tensors, for digests: of `runs`, which
/// ascend, or of the whole ones in the file.
void markRuns(ArchiveComposer& composer, uint32_t source, std::vector<MarkedRun> runs);
void markWholeTensors(
    ArchiveComposer& composer, const std::shared_ptr<const ReshardContext>& context, FileId file);

/// A new tensor that holds one state of one target unit on one rank.
NodeId flatTensor(ArchiveComposer& composer, const std::shared_ptr<const ReshardContext>& context,
    uint32_t unit, uint32_t state, uint32_t rank, bool requiresGrad);
/// A new tensor of a parameter's shape that holds one of its states whole, converted to `dtype`.
NodeId wholeTensor(ArchiveComposer& composer, const std::shared_ptr<const ReshardContext>& context,
    ParamId param, std::string_view state, DType dtype, uint32_t tensor, bool requiresGrad);
/// Index into the plan's tensors of a frozen parameter's, buffer's or copy's weight; kNoTensor when it has
/// none.
uint32_t weightTensor(const ReshardContext& context, ParamId param);

} // namespace shardscope
