// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>

namespace shardscope::io {

/// Calls `work(i)` for every i in [0, count) and returns when all are done. Starts on the calling thread, and
/// goes on with up to 64 threads as soon as the calls turn out to wait (100 microseconds each and more), as
/// they do for network file systems: local files pay for no threads. `work` must be thread-safe.
void overlapCalls(size_t count, const std::function<void(size_t)>& work);

} // namespace shardscope::io
