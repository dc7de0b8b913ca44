// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/verify/verify_output.h"
#include "core/engine/write/execute.h"

namespace shardscope {

/// execute() with chosen hooks.
Result<ExecuteReport> runPlan(io::FileSystem& files, const WritePlan& plan, const ExecuteOptions& options,
    const ExecuteHooks& hooks, JobContext& job);

} // namespace shardscope
