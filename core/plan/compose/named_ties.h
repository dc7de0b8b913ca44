// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/model/checkpoint.h"

#include <string>
#include <vector>

namespace shardscope {

/// Adds ties that the checkpoint's files do not record. Each text is "NAME=OWNER": NAME becomes a second name
/// of the parameter OWNER, with OWNER's shape. If a module object is registered under two names, no record of
/// its tie exists (runtime/engine.py, _get_shared_params, compares parameters and not modules).
///
/// Usage if a text is not such a pair, OWNER is not a parameter, or NAME is not a name that the module lists
/// and no file holds (unheldNames()). Unsupported for tensor slices and pipeline stages. Returns `source`
/// itself if `ties` is empty.
Result<CheckpointPtr> withTies(CheckpointPtr source, const std::vector<std::string>& ties);

} // namespace shardscope
