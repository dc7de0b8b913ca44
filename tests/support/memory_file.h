// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/io/file_system.h"

#include <atomic>
#include <map>
#include <string>

namespace shardscope::test {

/// A file in memory: pieces of bytes at their offsets, zeros between them. Larger than any disk
/// if need be.
class MemoryFile final : public io::ReadFile
{
public:
    explicit MemoryFile(std::string bytes);
    MemoryFile(uint64_t size, std::map<uint64_t, std::string> pieces);
    /// A *.sparse fixture of tests/data/torch (make.py there describes the format).
    static std::unique_ptr<MemoryFile> fromSparse(const std::filesystem::path& path);

    [[nodiscard]] uint64_t size() const override { return m_identity.bytes; }
    [[nodiscard]] const io::Path& path() const override { return m_path; }
    [[nodiscard]] const io::FileIdentity& identity() const override { return m_identity; }
    Status readAt(uint64_t offset, std::span<uint8_t> out) const override;
    void dropCache(uint64_t, uint64_t) const override { }
    Status checkUnchanged() const override { return {}; }

    [[nodiscard]] uint64_t readCalls() const { return m_readCalls; }
    [[nodiscard]] uint64_t readBytes() const { return m_readBytes; }
    [[nodiscard]] std::string bytesAt(uint64_t offset, uint64_t length) const;
    /// From now on every read that touches this byte fails as a bad disk block does.
    void breakAt(uint64_t offset) { m_badByte = offset; }

private:
    io::Path m_path = "memory.pt";
    io::FileIdentity m_identity;
    std::map<uint64_t, std::string> m_pieces;
    uint64_t m_badByte = UINT64_MAX;
    mutable std::atomic<uint64_t> m_readCalls = 0;
    mutable std::atomic<uint64_t> m_readBytes = 0;
};

} // namespace shardscope::test
