// SPDX-License-Identifier: Apache-2.0
#include "tests/support/waiting_file_system.h"

#include <thread>

namespace shardscope::test {
namespace {

class WaitingFile final : public io::ForwardingReadFile
{
public:
    WaitingFile(std::unique_ptr<io::ReadFile> inner, const WaitingFileSystem& files)
        : ForwardingReadFile(std::move(inner))
        , m_files(files)
    {
    }

    Status readAt(uint64_t offset, std::span<uint8_t> out) const override
    {
        m_files.wait();
        return ForwardingReadFile::readAt(offset, out);
    }
    Status checkUnchanged() const override
    {
        m_files.wait();
        return ForwardingReadFile::checkUnchanged();
    }

private:
    const WaitingFileSystem& m_files;
};

const io::ReadFile* innerOf(const io::ReadFile* file)
{
    const auto* waiting = dynamic_cast<const WaitingFile*>(file);
    return waiting != nullptr ? &waiting->inner() : file;
}

} // namespace

void WaitingFileSystem::wait() const
{
    ++m_rounds;
    std::this_thread::sleep_for(m_wait);
}

Result<std::unique_ptr<io::ReadFile>> WaitingFileSystem::openRead(const io::Path& path)
{
    wait();
    SHARDSCOPE_TRY(auto file, m_inner.openRead(path));
    return std::make_unique<WaitingFile>(std::move(file), *this);
}

std::vector<io::FileSystem::Opened> WaitingFileSystem::openReadAll(std::span<const io::Path> paths)
{
    wait();
    std::vector<Opened> out = m_inner.openReadAll(paths);
    for (Opened& one : out) {
        if (one)
            one = std::make_unique<WaitingFile>(std::move(*one), *this);
    }
    return out;
}

std::vector<Result<io::FileInfo>> WaitingFileSystem::statAll(std::span<const io::Path> paths)
{
    wait();
    return m_inner.statAll(paths);
}

std::vector<Status> WaitingFileSystem::readAll(std::span<const io::ReadRange> ranges)
{
    wait();
    std::vector<io::ReadRange> inner(ranges.begin(), ranges.end());
    for (io::ReadRange& range : inner)
        range.file = innerOf(range.file);
    return m_inner.readAll(inner);
}

std::vector<Status> WaitingFileSystem::checkAllUnchanged(std::span<const io::ReadFile* const> files)
{
    wait();
    std::vector<const io::ReadFile*> inner;
    for (const io::ReadFile* file : files)
        inner.push_back(innerOf(file));
    return m_inner.checkAllUnchanged(inner);
}

Result<std::string> WaitingFileSystem::readSmall(const io::Path& path, uint64_t limitBytes)
{
    wait();
    return m_inner.readSmall(path, limitBytes);
}

Result<io::FileInfo> WaitingFileSystem::stat(const io::Path& path)
{
    wait();
    return m_inner.stat(path);
}

Result<std::vector<io::DirectoryEntry>> WaitingFileSystem::list(const io::Path& path)
{
    wait();
    return m_inner.list(path);
}

Result<io::Path> WaitingFileSystem::canonical(const io::Path& path)
{
    wait();
    return m_inner.canonical(path);
}

} // namespace shardscope::test
