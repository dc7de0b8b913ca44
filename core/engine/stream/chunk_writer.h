// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/io/file_system.h"

#include <cstdint>
#include <span>

namespace shardscope {

/// Smaller outputs are faster through the page cache.
inline constexpr uint64_t kDirectFrom = uint64_t{4} << 20;

/// Writes the chunks of one file in order, bounded in dirty bytes.
class ChunkWriter
{
public:
    /// Write-back is started for every window of `windowBytes`; the first chunk is at `begin`.
    ChunkWriter(io::WriteFile& file, uint64_t windowBytes, uint64_t begin = 0)
        : m_file(file)
        , m_windowBytes(windowBytes)
        , m_windowBegin(begin)
    {
    }

    Status write(uint64_t offset, std::span<const uint8_t> chunk)
    {
        SHARDSCOPE_CHECK(m_file.writeAt(offset, chunk));
        const uint64_t end = offset + chunk.size();
        if (end - m_windowBegin < m_windowBytes)
            return {};
        SHARDSCOPE_CHECK(m_file.startWriteBack(m_windowBegin, end - m_windowBegin));
        m_windowBegin = end;
        return {};
    }

private:
    io::WriteFile& m_file;
    uint64_t m_windowBytes;
    uint64_t m_windowBegin;
};

} // namespace shardscope
