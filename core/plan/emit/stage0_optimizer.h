// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/plan/emit/reshard_context.h"

namespace shardscope {

/// The value of `optimizer` in the model file of a run without ZeRO: what FP16_Optimizer,
/// FP16_UnfusedOptimizer or torch's optimizer return from state_dict(). The composer reads the source's
/// model file; options, scalars and scaler come from its rank-0 optimizer file.
NodeId stage0Optimizer(ArchiveComposer& composer, const std::shared_ptr<const ReshardContext>& context);

/// Copies the records of a source's file, and marks what they hold of its tensors, masters among them.
void markStage0Tensors(
    ArchiveComposer& composer, const std::shared_ptr<const ReshardContext>& context, FileId file);

} // namespace shardscope
