// SPDX-License-Identifier: Apache-2.0
#include "core/io/limited_file_system.h"

#include <algorithm>
#include <condition_variable>

namespace shardscope::io {

namespace {

class LimitedReadFile final : public ForwardingReadFile
{
public:
    LimitedReadFile(std::unique_ptr<ReadFile> inner, std::shared_ptr<RateLimit> limit)
        : ForwardingReadFile(std::move(inner))
        , m_limit(std::move(limit))
    {
    }

    Status readAt(uint64_t offset, std::span<uint8_t> out) const override
    {
        SHARDSCOPE_CHECK(m_limit->pass(out.size()));
        return ForwardingReadFile::readAt(offset, out);
    }
    Status readFromDevice(uint64_t offset, std::span<uint8_t> out) const override
    {
        SHARDSCOPE_CHECK(m_limit->pass(out.size()));
        return ForwardingReadFile::readFromDevice(offset, out);
    }

private:
    std::shared_ptr<RateLimit> m_limit;
};

class LimitedWriteFile final : public ForwardingWriteFile
{
public:
    LimitedWriteFile(std::unique_ptr<WriteFile> inner, std::shared_ptr<RateLimit> limit)
        : ForwardingWriteFile(std::move(inner))
        , m_limit(std::move(limit))
    {
    }

    Status writeAt(uint64_t offset, std::span<const uint8_t> bytes) override
    {
        (void)m_limit->pass(bytes.size()); // a piece that is being written is finished
        return ForwardingWriteFile::writeAt(offset, bytes);
    }

private:
    std::shared_ptr<RateLimit> m_limit;
};

} // namespace

Status RateLimit::pass(uint64_t bytes)
{
    const double seconds = static_cast<double>(bytes) / static_cast<double>(m_bytesPerSecond);
    const auto duration = std::chrono::duration_cast<std::chrono::steady_clock::duration>(
        std::chrono::duration<double>(seconds));
    std::chrono::steady_clock::time_point start;
    {
        const std::lock_guard lock(m_mutex);
        const auto now = std::chrono::steady_clock::now();
        start = std::max(m_next, now);
        m_next = start + duration;
        m_heldBack += start - now;
    }
    std::mutex own;
    std::unique_lock lock(own);
    std::condition_variable_any().wait_until(lock, m_stop, start, [] { return false; });
    if (m_stop.stop_requested())
        return fail(ErrorCode::Cancelled, "stopped on request");
    return {};
}

double RateLimit::secondsHeldBack() const
{
    const std::lock_guard lock(m_mutex);
    return std::chrono::duration<double>(m_heldBack).count();
}

LimitedFileSystem::LimitedFileSystem(FileSystem& inner, uint64_t bytesPerSecond, std::stop_token stop)
    : ForwardingFileSystem(inner)
    , m_limit(std::make_shared<RateLimit>(bytesPerSecond, std::move(stop)))
{
}

Result<std::unique_ptr<ReadFile>> LimitedFileSystem::openRead(const Path& path)
{
    SHARDSCOPE_TRY(auto file, ForwardingFileSystem::openRead(path));
    return std::unique_ptr<ReadFile>(std::make_unique<LimitedReadFile>(std::move(file), m_limit));
}

std::vector<FileSystem::Opened> LimitedFileSystem::openReadAll(std::span<const Path> paths)
{
    std::vector<Opened> out = inner().openReadAll(paths);
    for (Opened& file : out) {
        if (file)
            file = std::make_unique<LimitedReadFile>(std::move(*file), m_limit);
    }
    return out;
}

std::vector<Result<FileInfo>> LimitedFileSystem::statAll(std::span<const Path> paths)
{
    return inner().statAll(paths);
}

std::vector<Status> LimitedFileSystem::readAll(std::span<const ReadRange> ranges)
{
    std::vector<ReadRange> own(ranges.begin(), ranges.end());
    uint64_t bytes = 0;
    for (ReadRange& range : own) {
        bytes += range.out.size();
        if (const auto* limited = dynamic_cast<const LimitedReadFile*>(range.file))
            range.file = &limited->inner();
    }
    if (const Status passed = m_limit->pass(bytes); !passed) {
        std::vector<Status> out;
        for (size_t i = 0; i < ranges.size(); ++i)
            out.push_back(forward(passed.error()));
        return out;
    }
    return inner().readAll(own);
}

std::vector<Status> LimitedFileSystem::checkAllUnchanged(std::span<const ReadFile* const> files)
{
    std::vector<const ReadFile*> own;
    for (const ReadFile* file : files) {
        const auto* limited = dynamic_cast<const LimitedReadFile*>(file);
        own.push_back(limited != nullptr ? &limited->inner() : file);
    }
    return inner().checkAllUnchanged(own);
}

Result<std::unique_ptr<WriteFile>> LimitedFileSystem::create(const Path& path, uint32_t mode)
{
    SHARDSCOPE_TRY(auto file, ForwardingFileSystem::create(path, mode));
    return std::unique_ptr<WriteFile>(std::make_unique<LimitedWriteFile>(std::move(file), m_limit));
}

Result<std::unique_ptr<WriteFile>> LimitedFileSystem::openShared(const Path& path, uint32_t mode)
{
    SHARDSCOPE_TRY(auto file, ForwardingFileSystem::openShared(path, mode));
    return std::unique_ptr<WriteFile>(std::make_unique<LimitedWriteFile>(std::move(file), m_limit));
}

Result<std::string> LimitedFileSystem::readSmall(const Path& path, uint64_t limitBytes)
{
    Result<std::string> text = ForwardingFileSystem::readSmall(path, limitBytes);
    if (text) {
        SHARDSCOPE_CHECK(m_limit->pass(text->size()));
    }
    return text;
}

} // namespace shardscope::io
