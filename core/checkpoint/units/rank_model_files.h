// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/folder/reading_state.h"

namespace shardscope {

/// Adds a unit for every frozen parameter that no file holds whole. Each is partitioned by itself over
/// worldSize ranks, with its fragments in the model files. Empty ones have no fragments.
Status addFrozenUnits(Reading& reading);
/// At full depth: reads the model files of the other ranks in small batches, so that memory stays bounded for
/// any number of ranks. Compares them with the first one and reads their frozen fragments.
Status readOtherModelFiles(Reading& reading);

} // namespace shardscope
