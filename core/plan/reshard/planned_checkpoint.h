// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/plan/reshard/reshard.h"

namespace shardscope {

/// The checkpoint that a plan of planReshard() writes, before it is written: its ranks, its units, and its
/// files with their sizes. It is for showing the layout. It has no values: the places of elements inside the
/// files are not set, and the files cannot be read.
CheckpointPtr plannedCheckpoint(const WritePlan& plan);

} // namespace shardscope
