// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/plan/export.h"

namespace shardscope {

/// The tensors of an export: all weights in the order of the model, then state by state what was asked for
/// beside them. Refused where no file holds a parameter; Unsupported, naming it, where its elements cannot be
/// cast; Usage for states that there are not. Pure.
Result<std::vector<ExportTensor>> exportTensors(const Checkpoint& source, const ExportOptions& options);

} // namespace shardscope
