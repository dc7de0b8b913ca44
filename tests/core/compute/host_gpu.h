// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/compute/cuda/gpu.h"

#include <atomic>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

namespace shardscope::test {

/// Settings of a HostGpu and its counters. Shared by test and GPU; thread-safe.
struct HostGpuPlan {
    std::atomic<size_t> memoryBytes = size_t{1} << 30; ///< allocations beyond it fail
    std::atomic<int64_t> failAfter = -1; ///< all steps after this many fail, as after a lost device
    std::atomic<size_t> used = 0; ///< bytes allocated now
    std::atomic<size_t> most = 0;
    std::atomic<size_t> copies = 0;
    std::atomic<size_t> kernels = 0;
};

/// A GPU that the host simulates: the kernels' block functions, one block and thread after the other.
/// Copies insist on host memory that came from it and on device memory that did. Nothing happens before
/// finish(), so that what is not waited for is not there.
std::unique_ptr<compute::Gpu> makeHostGpu(uint32_t number, std::shared_ptr<HostGpuPlan> plan);

} // namespace shardscope::test
