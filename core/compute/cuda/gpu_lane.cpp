// SPDX-License-Identifier: Apache-2.0
#include "core/compute/cuda/gpu_lane.h"

#include <algorithm>
#include <cstring>
#include <mutex>

namespace shardscope::compute {

namespace {

constexpr size_t kBufferBytes = size_t{16} << 20;
/// Bytes that are copied while the next piece is put into the buffer.
constexpr size_t kPieceBytes = size_t{2} << 20;

} // namespace

void PinnedRanges::add(const uint8_t* data, size_t bytes)
{
    const std::unique_lock lock(m_mutex);
    m_ranges[data] = bytes;
}

void PinnedRanges::remove(const uint8_t* data)
{
    const std::unique_lock lock(m_mutex);
    m_ranges.erase(data);
}

bool PinnedRanges::contains(std::span<const uint8_t> bytes) const
{
    const std::shared_lock lock(m_mutex);
    auto after = m_ranges.upper_bound(bytes.data());
    if (after == m_ranges.begin())
        return false;
    --after;
    return bytes.data() + bytes.size() <= after->first + after->second;
}

Result<std::unique_ptr<GpuLane>> GpuLane::make(Gpu& gpu, size_t deviceBytes, const PinnedRanges& pinned)
{
    std::unique_ptr<GpuLane> out(new GpuLane(gpu, pinned));
    SHARDSCOPE_TRY(out->m_queue, gpu.makeQueue());
    SHARDSCOPE_TRY(out->m_buffer, GpuMemory::allocate(gpu, GpuMemory::Place::Host, kBufferBytes));
    for (size_t bytes = std::max(deviceBytes, kMinBytes);; bytes /= 2) {
        auto memory = GpuMemory::allocate(gpu, GpuMemory::Place::Device, bytes);
        if (memory) {
            out->m_memory = std::move(*memory);
            out->m_capacity = bytes;
            return out;
        }
        if (bytes / 2 < kMinBytes)
            return forward(std::move(memory).error());
    }
}

void GpuLane::begin()
{
    m_memory.reset();
    m_buffer.reset();
    m_waiting.clear();
}

Result<std::span<uint8_t>> GpuLane::buffer(size_t bytes)
{
    if (m_buffer.left() < GpuMemory::kAlign)
        SHARDSCOPE_CHECK(finish());
    const size_t count = std::min({bytes, kPieceBytes, m_buffer.left()});
    return std::span<uint8_t>(m_buffer.take(count), count);
}

Status GpuLane::upload(uint8_t* device, std::span<const uint8_t> host)
{
    if (m_pinned.contains(host))
        return m_queue->copyIn(device, host.data(), host.size());
    while (!host.empty()) {
        SHARDSCOPE_TRY(const std::span<uint8_t> piece, buffer(host.size()));
        std::memcpy(piece.data(), host.data(), piece.size());
        SHARDSCOPE_CHECK(m_queue->copyIn(device, piece.data(), piece.size()));
        device += piece.size();
        host = host.subspan(piece.size());
    }
    return {};
}

Status GpuLane::download(std::span<uint8_t> host, const uint8_t* device)
{
    if (m_pinned.contains(host))
        return m_queue->copyOut(host.data(), device, host.size());
    while (!host.empty()) {
        SHARDSCOPE_TRY(const std::span<uint8_t> piece, buffer(host.size()));
        SHARDSCOPE_CHECK(m_queue->copyOut(piece.data(), device, piece.size()));
        m_waiting.push_back({host.first(piece.size()), piece.data()});
        device += piece.size();
        host = host.subspan(piece.size());
    }
    return {};
}

Status GpuLane::finish()
{
    SHARDSCOPE_CHECK(m_queue->finish());
    for (const Waiting& waiting : m_waiting)
        std::memcpy(waiting.host.data(), waiting.from, waiting.host.size());
    m_waiting.clear();
    m_buffer.reset();
    return {};
}

} // namespace shardscope::compute
