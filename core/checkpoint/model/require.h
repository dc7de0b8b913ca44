// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/model/checkpoint.h"

#include <string>
#include <vector>

namespace shardscope {

/// Success when parameters, layout and values can be asked for; else the checkpoint's modelError (exit 3 or
/// 4).
Status requireModel(const Checkpoint& checkpoint);
/// Success when every value can be trusted, so that something may be written from it; else Refused, naming
/// the findings of severity error whose codes are not in `allow`.
Status requireComplete(const Checkpoint& checkpoint, const std::vector<std::string>& allow = {});

} // namespace shardscope
