// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/compare/tensor_table.h"
#include "core/plan/archive_composer.h"
#include "core/plan/reshard.h"
#include "core/plan/reshard_target.h"
#include "core/plan/segment_cursors.h"

#include <memory>
#include <string_view>
#include <vector>

namespace shardscope {

/// What the parts of a reshard plan share. Immutable once made; thread-safe.
struct ReshardContext {
    CheckpointPtr source;
    ReshardTarget target;
    uint64_t subGroupSize = 0; ///< 0 where it does not apply
    std::vector<PlanSource> sources;
    std::shared_ptr<const std::vector<uint32_t>> sourceOfFile; ///< FileId → index into sources
    std::shared_ptr<const TensorTable> table; ///< numbers the source's tensors
    std::vector<PlanTensor> tensors; ///< index: table
    std::vector<OutputRecord> optimRecords; ///< small records of the rank-0 templates
    std::vector<OutputRecord> modelRecords;

    [[nodiscard]] const TorchFile& optimTemplate() const { return *source->file(source->rank0Optim).content; }
    [[nodiscard]] const TorchFile& modelTemplate() const { return *source->file(source->rank0Model).content; }
    [[nodiscard]] uint32_t sourceIndex(FileId file) const { return (*sourceOfFile)[index(file)]; }
    /// The cursor of one target unit's state on one rank, and its length in elements.
    [[nodiscard]] FlatTarget flatTarget(uint32_t unit, uint32_t state, uint32_t rank) const;
};

/// Fills sources, tensors and templates for a complete checkpoint and a laid-out target.
Result<std::shared_ptr<const ReshardContext>> makeReshardContext(io::FileSystem& files, CheckpointPtr source,
    ReshardTarget target, uint64_t subGroupSize, JobContext& job);

/// The four kinds of files a resharded checkpoint consists of. `rank` is the target rank.
Result<OutputFile> composeZero12Optim(const std::shared_ptr<const ReshardContext>& context, uint32_t rank);
Result<OutputFile> composeZero12Model(const std::shared_ptr<const ReshardContext>& context);
Result<OutputFile> composeZero3Optim(const std::shared_ptr<const ReshardContext>& context, uint32_t rank);
Result<OutputFile> composeZero3Model(const std::shared_ptr<const ReshardContext>& context, uint32_t rank);

/// Where the whole tensors of rank 0's model file lie in one of its records, ascending, for digests.
std::vector<MarkedRun> wholeRunsInRecord(const ReshardContext& context, uint32_t record);

/// A new tensor that holds one state of one target unit on one rank.
NodeId flatTensor(ArchiveComposer& composer, const std::shared_ptr<const ReshardContext>& context,
    uint32_t unit, uint32_t state, uint32_t rank, bool requiresGrad);

} // namespace shardscope
