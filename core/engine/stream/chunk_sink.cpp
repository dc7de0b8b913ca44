// SPDX-License-Identifier: Apache-2.0
#include "core/engine/stream/chunk_sink.h"

#include <algorithm>
#include <utility>

namespace shardscope {

ChunkBuffers::ChunkBuffers(size_t count, size_t bytes, const ComputeBackend& backend)
    : m_bytes(bytes)
{
    for (size_t i = 0; i < count; ++i)
        m_buffers.push_back(
            backend.hostMemory(bytes + kSlackBytes)); // not cleared: every byte is written before it is read
}

ChunkSink::ChunkSink(ChunkBuffers& buffers, bool threaded, Consumer consumer)
    : m_buffers(buffers)
    , m_consumer(std::move(consumer))
    , m_threaded(threaded && buffers.count() > 1)
{
    for (size_t i = 0; i < buffers.count(); ++i)
        m_free.push_back(i);
    if (m_threaded)
        m_thread = Thread::start([this] { consumeAll(); });
    m_threaded = m_thread.isStarted();
}

ChunkSink::~ChunkSink()
{
    stopThread(true);
}

Result<std::span<uint8_t>> ChunkSink::room(size_t atLeast)
{
    while (!m_haveCurrent || m_used >= m_buffers.bytes()) {
        if (m_haveCurrent)
            SHARDSCOPE_CHECK(handOver());
        SHARDSCOPE_CHECK(takeBuffer());
    }
    return std::span<uint8_t>(
        m_buffers.at(m_current) + m_used, std::max(m_buffers.bytes() - m_used, atLeast));
}

Status ChunkSink::takeBuffer()
{
    {
        std::unique_lock lock(m_mutex);
        m_changed.wait(lock, [&] { return !m_free.empty() || !m_status; });
        if (!m_status)
            return forward(m_status.error());
        m_current = m_free.back();
        m_free.pop_back();
    }
    m_haveCurrent = true;
    std::copy_n(m_carried.begin(), m_carriedBytes, m_buffers.at(m_current));
    m_used = std::exchange(m_carriedBytes, 0);
    return {};
}

void ChunkSink::filled(size_t bytes)
{
    m_used += bytes;
}

Status ChunkSink::finish()
{
    while (m_haveCurrent) {
        SHARDSCOPE_CHECK(handOver());
        if (m_carriedBytes > 0)
            SHARDSCOPE_CHECK(takeBuffer());
    }
    stopThread(false);
    return m_status;
}

Status ChunkSink::handOver()
{
    const Full full{m_current, m_chunkOffset, std::min(m_used, m_buffers.bytes())};
    m_carriedBytes = m_used - full.bytes;
    std::copy_n(m_buffers.at(m_current) + full.bytes, m_carriedBytes, m_carried.begin());
    m_chunkOffset += full.bytes;
    m_used = 0;
    m_haveCurrent = false;
    if (!m_threaded) {
        m_free.push_back(full.buffer);
        return m_consumer(full.offset, {m_buffers.at(full.buffer), full.bytes});
    }
    const std::lock_guard lock(m_mutex);
    m_full.push_back(full);
    m_changed.notify_all();
    return m_status;
}

void ChunkSink::consumeAll()
{
    std::unique_lock lock(m_mutex);
    for (;;) {
        m_changed.wait(lock, [&] { return !m_full.empty() || m_ended; });
        if (m_full.empty())
            return;
        const Full full = m_full.front();
        m_full.pop_front();
        lock.unlock();
        Status status = withinMemory([&] {
            return m_consumer(full.offset, {m_buffers.at(full.buffer), full.bytes});
        });
        lock.lock();
        m_free.push_back(full.buffer);
        m_changed.notify_all();
        if (!status) {
            m_status = std::move(status);
            return;
        }
    }
}

void ChunkSink::stopThread(bool drop)
{
    if (!m_thread.isStarted())
        return;
    {
        const std::lock_guard lock(m_mutex);
        m_ended = true;
        if (drop)
            m_full.clear();
        m_changed.notify_all();
    }
    m_thread.join();
}

} // namespace shardscope
