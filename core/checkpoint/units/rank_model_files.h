// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/folder/reading_state.h"

namespace shardscope {

/// A unit for every frozen parameter that no file holds whole: it is partitioned alone, over worldSize ranks,
/// and its fragments are in the model files. Empty ones have nothing to place.
void addFrozenUnits(Reading& reading);
/// Full depth: the model files of the other ranks, in small batches, so that memory stays bounded whatever
/// their number; checks them against the first and takes their frozen fragments.
Status readOtherModelFiles(Reading& reading);

} // namespace shardscope
