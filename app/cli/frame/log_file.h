// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/job_context.h"

#include <string>

namespace shardscope::cli {

/// A log that appends timed lines to `path`; thread-safe. WriteFailed when the file cannot be opened or is
/// not a regular file: opening a FIFO could block forever.
Result<JobContext::LogSink> openLogFile(const std::string& path);

} // namespace shardscope::cli
