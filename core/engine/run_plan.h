// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/execute.h"
#include "core/engine/verify_output.h"

namespace shardscope {

/// execute() with chosen hooks.
Result<ExecuteReport> runPlan(io::FileSystem& files, const WritePlan& plan, const ExecuteOptions& options,
    const ExecuteHooks& hooks, JobContext& job);

} // namespace shardscope
