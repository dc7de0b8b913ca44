// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/io/forwarding_file_system.h"

#include <chrono>
#include <memory>
#include <mutex>
#include <stop_token>

namespace shardscope::io {

/// Spreads bytes over time. Thread-safe.
class RateLimit
{
public:
    /// `bytesPerSecond` is at least 1. A stop ends all waits.
    explicit RateLimit(uint64_t bytesPerSecond, std::stop_token stop = {})
        : m_bytesPerSecond(bytesPerSecond)
        , m_stop(std::move(stop))
    {
    }

    /// Waits until so many bytes may pass. The first ones pass at once. Cancelled after a stop.
    Status pass(uint64_t bytes);
    /// Seconds that calls of pass() have waited, summed.
    [[nodiscard]] double secondsHeldBack() const;

private:
    uint64_t m_bytesPerSecond;
    std::stop_token m_stop;
    mutable std::mutex m_mutex;
    std::chrono::steady_clock::time_point m_next; ///< when the next bytes may pass
    std::chrono::steady_clock::duration m_heldBack{};
};

/// Files that are read and written with at most so many bytes a second, both together, for shared file
/// systems. Thread-safe.
class LimitedFileSystem final : public ForwardingFileSystem
{
public:
    LimitedFileSystem(FileSystem& inner, uint64_t bytesPerSecond, std::stop_token stop = {});

    Result<std::unique_ptr<ReadFile>> openRead(const Path& path) override;
    std::vector<Opened> openReadAll(std::span<const Path> paths) override;
    std::vector<Result<FileInfo>> statAll(std::span<const Path> paths) override;
    /// The sum of the ranges passes the limit, and then they are read together.
    std::vector<Status> readAll(std::span<const ReadRange> ranges) override;
    std::vector<Status> checkAllUnchanged(std::span<const ReadFile* const> files) override;
    Result<std::unique_ptr<WriteFile>> create(const Path& path, uint32_t mode) override;
    Result<std::unique_ptr<WriteFile>> openShared(const Path& path, uint32_t mode) override;
    Result<std::string> readSmall(const Path& path, uint64_t limitBytes) override;
    [[nodiscard]] double secondsHeldBack() const override { return m_limit->secondsHeldBack(); }

private:
    std::shared_ptr<RateLimit> m_limit; ///< shared with the open files
};

} // namespace shardscope::io
