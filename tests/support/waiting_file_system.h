// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/io/forwarding_file_system.h"

#include <atomic>
#include <chrono>
#include <cstdint>

namespace shardscope::test {

/// A file system far away: every call that reads waits, and calls for many files wait once. Thread-safe.
class WaitingFileSystem final : public io::ForwardingFileSystem
{
public:
    explicit WaitingFileSystem(std::chrono::microseconds wait, io::FileSystem& inner = io::realFileSystem())
        : ForwardingFileSystem(inner)
        , m_inner(inner)
        , m_wait(wait)
    {
    }

    /// Calls so far.
    [[nodiscard]] uint64_t rounds() const { return m_rounds; }
    /// Called by files, too.
    void wait() const;

    Result<std::unique_ptr<io::ReadFile>> openRead(const io::Path& path) override;
    std::vector<Opened> openReadAll(std::span<const io::Path> paths) override;
    std::vector<Result<io::FileInfo>> statAll(std::span<const io::Path> paths) override;
    std::vector<Status> readAll(std::span<const io::ReadRange> ranges) override;
    std::vector<Status> checkAllUnchanged(std::span<const io::ReadFile* const> files) override;
    Result<std::string> readSmall(const io::Path& path, uint64_t limitBytes) override;
    Result<io::FileInfo> stat(const io::Path& path) override;
    Result<std::vector<io::DirectoryEntry>> list(const io::Path& path) override;
    Result<io::Path> canonical(const io::Path& path) override;

private:
    io::FileSystem& m_inner;
    std::chrono::microseconds m_wait;
    mutable std::atomic<uint64_t> m_rounds = 0;
};

} // namespace shardscope::test
