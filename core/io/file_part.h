// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/io/file_system.h"

namespace shardscope::io {

/// A run of bytes of an open file as a file of its own, which lives no longer than that. Thread-safe as that
/// is.
class FilePart final : public ReadFile
{
public:
    /// [offset, offset + bytes) is inside `whole`.
    FilePart(const ReadFile& whole, uint64_t offset, uint64_t bytes)
        : m_whole(whole)
        , m_offset(offset)
        , m_bytes(bytes)
    {
    }

    [[nodiscard]] uint64_t size() const override { return m_bytes; }
    [[nodiscard]] const Path& path() const override { return m_whole.path(); }
    [[nodiscard]] const FileIdentity& identity() const override { return m_whole.identity(); }
    Status readAt(uint64_t offset, std::span<uint8_t> out) const override;
    void readAhead(uint64_t offset, uint64_t bytes) const override
    {
        m_whole.readAhead(m_offset + offset, bytes);
    }
    void dropCache(uint64_t offset, uint64_t bytes) const override
    {
        m_whole.dropCache(m_offset + offset, bytes);
    }
    Status checkUnchanged() const override { return m_whole.checkUnchanged(); }

private:
    const ReadFile& m_whole;
    uint64_t m_offset;
    uint64_t m_bytes;
};

} // namespace shardscope::io
