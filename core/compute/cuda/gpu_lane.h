// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/compute/cuda/gpu_memory.h"

#include <map>
#include <shared_mutex>
#include <span>
#include <vector>

namespace shardscope::compute {

/// Host memory allocated for copies, which then need no intermediate buffer. Thread-safe.
class PinnedRanges
{
public:
    void add(const uint8_t* data, size_t bytes);
    void remove(const uint8_t* data);
    [[nodiscard]] bool contains(std::span<const uint8_t> bytes) const;

private:
    mutable std::shared_mutex m_mutex;
    std::map<const uint8_t*, size_t> m_ranges;
};

/// A queue of one GPU with memory for what one call works on at a time. Data in other host memory is copied
/// through a buffer, piece by piece, so that filling it and copying from it overlap.
///
/// Used by one thread at a time.
class GpuLane
{
public:
    /// At most `deviceBytes` of the GPU's memory; halved until the GPU has as much, down to kMinBytes.
    static Result<std::unique_ptr<GpuLane>> make(Gpu& gpu, size_t deviceBytes, const PinnedRanges& pinned);
    static constexpr size_t kMinBytes = size_t{8} << 20;

    [[nodiscard]] Gpu& gpu() const { return m_gpu; }
    [[nodiscard]] GpuQueue& queue() const { return *m_queue; }
    [[nodiscard]] GpuMemory& memory() { return m_memory; }
    [[nodiscard]] size_t capacity() const { return m_capacity; }

    /// Clears the state of an earlier call.
    void begin();
    Status upload(uint8_t* device, std::span<const uint8_t> host);
    /// `host` has the bytes after finish().
    Status download(std::span<uint8_t> host, const uint8_t* device);
    template <class T>
    Status uploadAll(T* device, const std::vector<T>& values)
    {
        return upload(reinterpret_cast<uint8_t*>(device),
            {reinterpret_cast<const uint8_t*>(values.data()), values.size() * sizeof(T)});
    }
    template <class T>
    Status downloadAll(std::vector<T>& values, const T* device)
    {
        return download({reinterpret_cast<uint8_t*>(values.data()), values.size() * sizeof(T)},
            reinterpret_cast<const uint8_t*>(device));
    }
    Status finish();

private:
    GpuLane(Gpu& gpu, const PinnedRanges& pinned)
        : m_gpu(gpu)
        , m_pinned(pinned)
    {
    }
    /// Part of the buffer, up to `bytes`; waits until some is free.
    Result<std::span<uint8_t>> buffer(size_t bytes);

    /// Where what is in the buffer after finish() belongs.
    struct Waiting {
        std::span<uint8_t> host;
        const uint8_t* from;
    };

    Gpu& m_gpu;
    const PinnedRanges& m_pinned;
    std::unique_ptr<GpuQueue> m_queue;
    GpuMemory m_memory;
    GpuMemory m_buffer;
    size_t m_capacity = 0;
    std::vector<Waiting> m_waiting;
};

} // namespace shardscope::compute
