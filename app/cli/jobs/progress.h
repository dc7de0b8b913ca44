// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/cli/frame/output.h"
#include "core/base/job_context.h"

namespace shardscope::cli {

/// What to do with progress: lines on a terminal, JSON lines, or nothing (an empty sink).
JobContext::ProgressSink progressSink(Output& output, const Arguments& arguments);

/// "writing  45 %  1.2 GiB of 2.3 GiB  512.0 MiB/s  3 s left", shortened to fit.
std::string progressText(const Progress& progress, size_t columns);

} // namespace shardscope::cli
