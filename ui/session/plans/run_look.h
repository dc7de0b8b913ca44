// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/write/execute.h"

#include <optional>

namespace shardscope::ui {

/// Why the start of a plan would fail, by the rules of the run itself, with what to do in the window; also if
/// an earlier job has written the target. Nothing: it can be started. For a worker.
std::optional<Error> problemOfRun(
    io::FileSystem& files, const WritePlan& plan, const ExecuteOptions& options, JobContext& job);

} // namespace shardscope::ui
