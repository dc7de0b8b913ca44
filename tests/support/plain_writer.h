// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/plan/model/write_plan.h"

#include <string>

namespace shardscope::test {

/// The bytes of one planned file, made in the simplest way: everything in memory, one segment after the
/// other. What the engine writes must be the same.
std::string plainBytes(const WritePlan& plan, size_t file);

/// All files of the plan under folder/targetName, and the pointer file. For tests that need a result, not the
/// engine.
void plainWrite(const WritePlan& plan, const io::Path& folder);

} // namespace shardscope::test
