// SPDX-License-Identifier: Apache-2.0
#include "core/torchfile/zip/zip_directory_window.h"

#include <algorithm>

namespace shardscope::zip {
namespace {

bool covers(uint64_t begin, uint64_t size, uint64_t offset, uint64_t length)
{
    return offset >= begin && offset - begin <= size && length <= size - (offset - begin);
}

} // namespace

Result<std::span<const uint8_t>> HeaderWindow::tail()
{
    if (m_tailOffset == UINT64_MAX) {
        const uint64_t bytes = std::min(m_file.size(), kTailBytes);
        m_tail.resize(bytes);
        SHARDSCOPE_CHECK(m_file.readAt(m_file.size() - bytes, m_tail));
        m_tailOffset = m_file.size() - bytes;
    }
    return std::span<const uint8_t>(m_tail);
}

bool HeaderWindow::holds(uint64_t offset, uint64_t length) const
{
    return covers(m_tailOffset, m_tail.size(), offset, length)
        || covers(m_windowOffset, m_windowBytes, offset, length);
}

Result<std::span<const uint8_t>> HeaderWindow::view(uint64_t offset, uint64_t length, uint64_t ahead)
{
    if (covers(m_tailOffset, m_tail.size(), offset, length))
        return std::span<const uint8_t>(m_tail).subspan(offset - m_tailOffset, length);
    if (!covers(m_windowOffset, m_windowBytes, offset, length)) {
        if (!covers(0, m_file.size(), offset, length))
            return fail(
                ErrorCode::Damaged, "the archive ends in the middle of a header", m_file.path().string());
        const uint64_t wanted = std::max(length, std::min({ahead, kWindowBytes, m_file.readyBytes(offset)}));
        const uint64_t bytes = std::min(wanted, m_file.size() - offset);
        m_windowBytes = 0; // a read that failed half-way leaves no visible bytes
        if (m_window.size() < bytes)
            m_window.resize(bytes);
        SHARDSCOPE_CHECK(m_file.readAt(offset, std::span(m_window).first(bytes)));
        m_windowOffset = offset;
        m_windowBytes = bytes;
    }
    return std::span<const uint8_t>(m_window).subspan(offset - m_windowOffset, length);
}

} // namespace shardscope::zip
