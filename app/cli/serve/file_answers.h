// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/io/file_system.h"

#include <functional>
#include <string>
#include <string_view>

namespace shardscope::cli {

/// Answers a request serve::ask::kFiles: gives the data of its calls to `data`, in their order, and returns
/// the payload of the last frame. A call that fails is a result like others. Damaged, LimitExceeded if the
/// payload is no such request; errors of `data`. Holds the data of one request in memory. Thread-safe.
Result<std::string> answerFileCalls(io::FileSystem& files, std::string_view payload,
    const std::function<Status(std::string_view bytes)>& data);

} // namespace shardscope::cli
