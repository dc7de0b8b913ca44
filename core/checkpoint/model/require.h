// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/model/checkpoint.h"

#include <string>
#include <vector>

namespace shardscope {

/// Success if parameters, layout and values can be queried. Else the checkpoint's modelError (exit 3 or 4).
Status requireModel(const Checkpoint& checkpoint);
/// Success if every value can be trusted, so that output may be written from it. Else Refused, with the
/// findings of severity error that `allow` does not list.
Status requireComplete(const Checkpoint& checkpoint, const std::vector<std::string>& allow = {});

} // namespace shardscope
