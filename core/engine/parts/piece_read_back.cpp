// SPDX-License-Identifier: Apache-2.0
#include "core/engine/parts/piece_read_back.h"

#include <algorithm>

namespace shardscope {

PieceReadBack::PieceReadBack(
    size_t threads, size_t bufferBytes, const ComputeBackend& backend, Halt& halt, Check check)
    : m_halt(halt)
    , m_check(std::move(check))
{
    for (size_t i = 0; i < std::max<size_t>(threads, 1); ++i)
        m_buffers.emplace_back(1, bufferBytes, backend);
    for (size_t i = 0; i < threads; ++i) {
        Thread thread = Thread::start([this, i] { readPieces(m_buffers[i]); });
        if (!thread.isStarted())
            break;
        m_threads.push_back(std::move(thread));
    }
}

PieceReadBack::~PieceReadBack()
{
    const std::lock_guard lock(m_mutex);
    m_ended = true;
    m_changed.notify_all();
}

void PieceReadBack::add(PieceRecord record)
{
    if (m_threads.empty()) {
        const std::lock_guard inPlace(m_inPlace);
        return report(m_check(record, m_buffers[0]));
    }
    const std::lock_guard lock(m_mutex);
    m_waiting.push_back(std::move(record));
    ++m_unread;
    m_changed.notify_all();
}

Status PieceReadBack::endAfter(Status written)
{
    std::unique_lock lock(m_mutex);
    if (written)
        m_changed.wait(lock, [&] { return m_unread == 0 || m_failure; });
    if (m_failure && (written || m_failure->code != ErrorCode::Cancelled))
        return forward(*m_failure);
    return written;
}

void PieceReadBack::readPieces(ChunkBuffers& buffers)
{
    for (;;) {
        PieceRecord record;
        {
            std::unique_lock lock(m_mutex);
            m_changed.wait(lock, [&] { return !m_waiting.empty() || m_ended || m_failure; });
            if (m_ended || m_failure)
                return;
            record = std::move(m_waiting.front());
            m_waiting.pop_front();
        }
        Status checked = withinMemory([&] { return m_check(record, buffers); });
        if (!checked)
            return report(std::move(checked));
        const std::lock_guard lock(m_mutex);
        --m_unread;
        m_changed.notify_all();
    }
}

void PieceReadBack::report(Status status)
{
    if (status)
        return;
    const std::lock_guard lock(m_mutex);
    if (!m_failure)
        m_failure = std::move(status).error();
    m_halt.stop(); // only now: a worker that it stops asks for the reason
    m_changed.notify_all();
}

} // namespace shardscope
