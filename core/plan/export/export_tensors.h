// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/plan/export/export_names.h"

namespace shardscope {

/// The tensors of an export of these parameters: all weights in their order, then the other requested states,
/// state by state. Refused where there are none and where no file holds a parameter; Unsupported, naming it,
/// where its elements cannot be cast; Usage for states that do not exist. Pure.
Result<std::vector<ExportTensor>> exportTensors(
    const Checkpoint& source, const ExportOptions& options, const std::vector<ExportName>& names);

} // namespace shardscope
