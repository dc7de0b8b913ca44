// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/plan/export/export_names.h"

namespace shardscope {

/// The tensors of an export of these parameters: all weights in their order, then the other requested states,
/// one after the other. Refused if there are none, or if no file holds a parameter. Unsupported, with its
/// name, if its elements cannot be cast. Usage for states that do not exist. Pure.
Result<std::vector<ExportTensor>> exportTensors(
    const Checkpoint& source, const ExportOptions& options, const std::vector<ExportName>& names);

} // namespace shardscope
