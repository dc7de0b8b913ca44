// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/model/checkpoint.h"

#include <memory>
#include <vector>

namespace shardscope {

/// Tensors that are stored whole, of parameters that no unit has: buffers, the frozen parameters of ZeRO-1
/// and 2, files of weights alone. In the order of their parameters. 16-bit copies of parameters in units are
/// left out.
std::vector<const WholeTensor*> tensorsOutsideUnits(const Checkpoint& checkpoint);

/// Whether the tensors of a unit are stored once and no rank has a share: the unit's partition, of one rank,
/// only defines an order. Universal folders, ZeRO stage 0, tensors outside units.
bool isStoredWhole(const FlatUnit& unit);

/// Such a tensor as a unit of one parameter and one rank, so that it can be drawn like others
/// (UnitKind::Whole, no group). It has the tensor's state. Where elements are not in row-major order in the
/// file, the run has no byte offset (StoredRun::kNoRecord).
std::shared_ptr<const FlatUnit> unitOf(const Checkpoint& checkpoint, const WholeTensor& tensor);

} // namespace shardscope
