// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/compute/cuda/tiles.h"

#include <cstddef>
#include <memory>
#include <string>

namespace shardscope::compute {

/// Work for one GPU in order: copies and kernels run one after another, asynchronously, until finish().
/// Pointers called `device` are to memory of that GPU, as are those in tiles; `host` ones are to memory of
/// allocateHost() and must not change until finish(). After an error nothing more is run.
///
/// Used by one thread at a time.
class GpuQueue
{
public:
    GpuQueue() = default;
    virtual ~GpuQueue() = default;
    GpuQueue(const GpuQueue&) = delete;
    GpuQueue& operator=(const GpuQueue&) = delete;

    virtual Status copyIn(uint8_t* device, const uint8_t* host, size_t bytes) = 0;
    virtual Status copyOut(uint8_t* host, const uint8_t* device, size_t bytes) = 0;
    virtual Status clear(uint8_t* device, size_t bytes) = 0;
    /// One block per tile; tiles and results are on the GPU.
    virtual Status cast(const CastTile* tiles, size_t count) = 0;
    virtual Status sum(const SumTile* tiles, TileSum* sums, size_t count) = 0;
    /// One answer per kTileElements elements; `bins` (kHistogramBins, may be null) are added to.
    virtual Status statistics(const GpuElements& elements, uint32_t* bins, TileStatistics* out) = 0;
    virtual Status compare(
        const GpuElements& left, const GpuElements& right, const GpuTolerance& tolerance, TileComparison* out)
        = 0;
    /// Waits for everything so far.
    virtual Status finish() = 0;
};

/// A GPU: CUDA's, or in tests one that the host plays. Errors are Unsupported, with CUDA's words.
/// Thread-safe.
class Gpu
{
public:
    Gpu() = default;
    virtual ~Gpu() = default;
    Gpu(const Gpu&) = delete;
    Gpu& operator=(const Gpu&) = delete;

    [[nodiscard]] virtual uint32_t number() const = 0;
    [[nodiscard]] virtual std::string name() const = 0; ///< "NVIDIA H200"
    virtual Result<std::unique_ptr<GpuQueue>> makeQueue() = 0;
    /// Aligned for every dtype; freed by release().
    virtual Result<uint8_t*> allocate(size_t bytes) = 0;
    virtual void release(uint8_t* device) = 0;
    /// Host memory that copies run from and to at full speed.
    virtual Result<uint8_t*> allocateHost(size_t bytes) = 0;
    virtual void releaseHost(uint8_t* host) = 0;
};

} // namespace shardscope::compute
