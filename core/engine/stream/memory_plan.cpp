// SPDX-License-Identifier: Apache-2.0
#include "core/engine/stream/memory_plan.h"

#include <algorithm>

namespace shardscope {

namespace {

/// Large enough that system calls cost little, small enough to stay in a processor's cache between reading
/// and summing.
constexpr uint64_t kChunk = uint64_t{1} << 20;
constexpr uint64_t kSmallChunk = uint64_t{256} << 10;
/// One is filled, one is consumed, two wait: the two sides rarely block each other.
constexpr size_t kBuffers = 4;
/// Dirty bytes of all workers together.
constexpr uint64_t kDirtyLimit = uint64_t{192} << 20;
constexpr uint64_t kMinWindow = uint64_t{4} << 20;
constexpr uint64_t kMaxWindow = uint64_t{32} << 20;

} // namespace

uint64_t MemoryPlan::writeBackWindow() const
{
    return std::clamp(kDirtyLimit / (2 * workers), kMinWindow, kMaxWindow);
}

MemoryPlan divideMemory(uint64_t limitBytes, unsigned jobs, size_t files, bool readsBack)
{
    MemoryPlan plan;
    plan.buffersPerWorker = jobs > 1 ? kBuffers : 1;
    plan.readBackBuffers = readsBack ? 1 : 0;
    const uint64_t buffers = plan.buffersPerWorker + plan.readBackBuffers + 1;
    const uint64_t affordable = limitBytes / (buffers * kSmallChunk + MemoryPlan::kPage);
    plan.workers = static_cast<size_t>(
        std::clamp<uint64_t>(std::min<uint64_t>(jobs, files), 1, std::max<uint64_t>(affordable, 1)));
    const uint64_t share = (limitBytes / plan.workers - MemoryPlan::kPage) / buffers;
    plan.chunkBytes = static_cast<size_t>(
        std::clamp(share / MemoryPlan::kPage * MemoryPlan::kPage, MemoryPlan::kPage, kChunk));
    return plan;
}

} // namespace shardscope
