// SPDX-License-Identifier: Apache-2.0
#include "core/compute/cuda/block_kernels.h"
#include "core/compute/cuda/kernels.h"

#include <math_constants.h>

namespace shardscope::compute {

namespace {

/// The threads of a block, which wait for one another after every step.
struct ThreadBlock {
    template <class Step>
    __device__ void each(Step step)
    {
        step(threadIdx.x);
        __syncthreads();
    }
    /// Threads of a warp that count into one bin add once: most values of a tensor are in few bins, zeros in
    /// one, and additions to one address wait for one another.
    __device__ void count(uint32_t* bins, uint32_t bin)
    {
        const unsigned same = __match_any_sync(__activemask(), bin);
        const unsigned first = __ffs(static_cast<int>(same)) - 1;
        if (threadIdx.x % warpSize == first)
            atomicAdd(&bins[bin], static_cast<unsigned>(__popc(same)));
    }
};

__global__ void __launch_bounds__(kThreads) castKernel(const CastTile* tiles)
{
    ThreadBlock block;
    castTile(block, tiles[blockIdx.x]);
}

__global__ void __launch_bounds__(kThreads) sumKernel(const SumTile* tiles, TileSum* out)
{
    __shared__ PerThread<TileSum> parts;
    ThreadBlock block;
    sumTile(block, parts, tiles[blockIdx.x], out[blockIdx.x]);
}

__global__ void __launch_bounds__(kThreads)
    statisticsKernel(GpuElements elements, uint32_t* bins, TileStatistics* out)
{
    __shared__ StatisticsShared shared;
    ThreadBlock block;
    statisticsTile(block, shared, elements, blockIdx.x, bins, CUDART_INF, out[blockIdx.x]);
}

__global__ void __launch_bounds__(kThreads)
    comparisonKernel(GpuElements left, GpuElements right, GpuTolerance tolerance, TileComparison* out)
{
    __shared__ PerThread<TileComparison> parts;
    ThreadBlock block;
    comparisonTile(block, parts, left, right, blockIdx.x, tolerance, out[blockIdx.x]);
}

unsigned tilesOf(uint64_t elements)
{
    return static_cast<unsigned>((elements + kTileElements - 1) / kTileElements);
}

} // namespace

void launchCasts(const CastTile* tiles, size_t count, cudaStream_t stream)
{
    castKernel<<<static_cast<unsigned>(count), kThreads, 0, stream>>>(tiles);
}

void launchSums(const SumTile* tiles, TileSum* out, size_t count, cudaStream_t stream)
{
    sumKernel<<<static_cast<unsigned>(count), kThreads, 0, stream>>>(tiles, out);
}

void launchStatistics(const GpuElements& elements, uint32_t* bins, TileStatistics* out, cudaStream_t stream)
{
    statisticsKernel<<<tilesOf(elements.count), kThreads, 0, stream>>>(elements, bins, out);
}

void launchComparison(const GpuElements& left, const GpuElements& right, const GpuTolerance& tolerance,
    TileComparison* out, cudaStream_t stream)
{
    comparisonKernel<<<tilesOf(left.count), kThreads, 0, stream>>>(left, right, tolerance, out);
}

} // namespace shardscope::compute
