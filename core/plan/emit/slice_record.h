// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/plan/compose/archive_composer.h"
#include "core/plan/emit/reshard_context.h"

namespace shardscope {

/// What a run with as many tensor slices as the target says of them in `universal_checkpoint_info`: the
/// source's own, `info`, with the number of padded rows, the widths of sub-parameters and AutoTP's map
/// (deepspeed/checkpoint/affine.py, to_dict) of the new slices. kNoNode where the target is not cut by what
/// the source records: patterns that somebody gave are no record of a run.
NodeId sliceRecord(ArchiveComposer& composer, const ReshardContext& context, NodeId info);

} // namespace shardscope
