// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/model/checkpoint.h"

#include <string>
#include <vector>

namespace shardscope {

/// The checkpoint with ties that its files do not record, each as "NAME=OWNER": NAME becomes a second name of
/// the parameter OWNER, of OWNER's shape. A module object that is registered under two names leaves no record
/// of its tie (runtime/engine.py, _get_shared_params, compares parameters and not modules). Usage where a
/// text is not such a pair, where OWNER is not a parameter, or where NAME is not a name that the module lists
/// and no file holds (unheldNames()); Unsupported for tensor slices and pipeline stages. Returns `source`
/// itself where `ties` is empty.
Result<CheckpointPtr> withTies(CheckpointPtr source, const std::vector<std::string>& ties);

} // namespace shardscope
