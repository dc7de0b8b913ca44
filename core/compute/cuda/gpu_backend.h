// SPDX-License-Identifier: Apache-2.0
#pragma once

// Room core/compute/cuda: a module that core/compute loads at run time and that does its arithmetic on GPUs.
// Start with GpuBackend; CUDA is behind the interface in gpu.h.

#include "core/compute/compute_backend.h"
#include "core/compute/cuda/gpu_lane.h"

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace shardscope::compute {

/// ComputeBackend on GPUs. Every call uses a lane of one of them, waits while all are in use, and ends when
/// its result is in host memory: copies and kernels of several threads' calls overlap. Plain code does small
/// calls and what the kernels do not support (integers, complex numbers, comparisons across dtypes).
///
/// If a GPU fails or runs out of memory, plain code repeats the call and the GPU is not used again; notes()
/// reports it.
class GpuBackend final : public ComputeBackend
{
public:
    /// `memoryBytes` of each GPU, at most, for `lanes` lanes each. Unsupported where no GPU gives a lane.
    static Result<std::unique_ptr<GpuBackend>> make(
        std::vector<std::unique_ptr<Gpu>> gpus, uint64_t memoryBytes, size_t lanes = kLanes);
    static constexpr size_t kLanes = 4;
    /// Below this a call is not worth the trip.
    static constexpr size_t kMinCallBytes = size_t{64} << 10;

    ~GpuBackend() override;

    Statistics statistics(
        DType dtype, std::span<const uint8_t> bytes, ValueHistogram* histogram) const override;
    Comparison comparison(const TypedBytes& left, const TypedBytes& right, uint64_t firstElement,
        const Tolerance& tolerance) const override;
    void transform(std::span<const ElementCast> casts, std::span<ElementSum> sums) const override;

    std::string device() const override;
    std::string name() const override;
    size_t batchBytes() const override { return size_t{4} << 20; }
    HostMemory hostMemory(size_t bytes) const override;
    std::vector<std::string> notes() const override;

private:
    class LaneUse;
    /// All GPUs' lanes, shared with the host memory that was given out: it may outlive the backend.
    struct Pool {
        std::vector<std::unique_ptr<Gpu>> gpus;
        PinnedRanges pinned;
        std::mutex mutex;
        std::condition_variable freed;
        std::vector<std::unique_ptr<GpuLane>> idle;
        size_t lanes = 0; ///< idle and used ones
        std::vector<std::string> notes;
    };

    explicit GpuBackend(std::shared_ptr<Pool> pool);
    /// Runs `work` on a lane; false where there is none or where it failed.
    template <class Work>
    bool onGpu(Work work) const;

    std::shared_ptr<Pool> m_pool;
};

} // namespace shardscope::compute
