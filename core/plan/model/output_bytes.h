// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/plan/model/write_plan.h"

namespace shardscope {

/// The size of the file that a recipe results in. Usage and LimitExceeded as ZipLayout::make(). Pure.
Result<uint64_t> outputBytes(const OutputFile& file);

} // namespace shardscope
