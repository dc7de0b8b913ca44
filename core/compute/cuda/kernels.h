// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/compute/cuda/tiles.h"

#include <cuda_runtime_api.h>

#include <cstddef>

/// Starts kernels on a stream; one block per tile. Read errors with cudaGetLastError().
namespace shardscope::compute {

void launchCasts(const CastTile* tiles, size_t count, cudaStream_t stream);
void launchSums(const SumTile* tiles, TileSum* out, size_t count, cudaStream_t stream);
void launchStatistics(const GpuElements& elements, uint32_t* bins, TileStatistics* out, cudaStream_t stream);
void launchComparison(const GpuElements& left, const GpuElements& right, const GpuTolerance& tolerance,
    TileComparison* out, cudaStream_t stream);

} // namespace shardscope::compute
