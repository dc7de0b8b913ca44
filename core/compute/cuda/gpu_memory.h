// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/compute/cuda/gpu.h"

#include <utility>

namespace shardscope::compute {

/// A piece of a GPU's memory, or of host memory for its copies, given out from the front.
class GpuMemory
{
public:
    enum class Place { Device, Host };

    GpuMemory() = default;
    static Result<GpuMemory> allocate(Gpu& gpu, Place place, size_t bytes)
    {
        SHARDSCOPE_TRY(
            uint8_t* const data, place == Place::Device ? gpu.allocate(bytes) : gpu.allocateHost(bytes));
        GpuMemory out;
        out.m_gpu = &gpu;
        out.m_place = place;
        out.m_data = data;
        out.m_bytes = bytes;
        return out;
    }
    GpuMemory(GpuMemory&& other) noexcept { swap(other); }
    GpuMemory& operator=(GpuMemory&& other) noexcept
    {
        swap(other);
        return *this;
    }
    ~GpuMemory()
    {
        if (m_data == nullptr)
            return;
        if (m_place == Place::Device)
            m_gpu->release(m_data);
        else
            m_gpu->releaseHost(m_data);
    }

    static constexpr size_t kAlign = 256;
    [[nodiscard]] static size_t aligned(size_t bytes) { return (bytes + kAlign - 1) / kAlign * kAlign; }

    void reset() { m_used = 0; }
    [[nodiscard]] size_t left() const { return m_bytes - m_used; }
    /// Null where not enough is left. Aligned.
    [[nodiscard]] uint8_t* take(size_t bytes)
    {
        const size_t whole = aligned(bytes);
        if (whole > left())
            return nullptr;
        uint8_t* const out = m_data + m_used;
        m_used += whole;
        return out;
    }
    template <class T>
    [[nodiscard]] T* takeOf(size_t count)
    {
        return reinterpret_cast<T*>(take(count * sizeof(T)));
    }

private:
    void swap(GpuMemory& other) noexcept
    {
        std::swap(m_gpu, other.m_gpu);
        std::swap(m_place, other.m_place);
        std::swap(m_data, other.m_data);
        std::swap(m_bytes, other.m_bytes);
        std::swap(m_used, other.m_used);
    }

    Gpu* m_gpu = nullptr;
    Place m_place = Place::Device;
    uint8_t* m_data = nullptr;
    size_t m_bytes = 0;
    size_t m_used = 0;
};

} // namespace shardscope::compute
