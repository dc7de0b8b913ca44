// SPDX-License-Identifier: Apache-2.0
#include "core/io/faulting_file_system.h"

#include "core/io/forwarding_file_system.h"

#include <unistd.h>

#include <csignal>

namespace shardscope::io {

namespace {

tl::unexpected<Error> injected(int errnoValue, bool writing, const Path& path)
{
    return forward(errorFromErrno(errnoValue, writing, "injected fault", path));
}

class FaultingReadFile final : public ForwardingReadFile
{
public:
    FaultingReadFile(FaultingFileSystem& owner, std::unique_ptr<ReadFile> inner)
        : ForwardingReadFile(std::move(inner))
        , m_owner(owner)
    {
    }

    Status readAt(uint64_t offset, std::span<uint8_t> out) const override
    {
        return guarded([&] { return ForwardingReadFile::readAt(offset, out); });
    }
    Status readFromDevice(uint64_t offset, std::span<uint8_t> out) const override
    {
        return guarded([&] { return ForwardingReadFile::readFromDevice(offset, out); });
    }
    Status checkUnchanged() const override
    {
        return guarded([&] { return ForwardingReadFile::checkUnchanged(); });
    }

private:
    template <class Call>
    Status guarded(Call call) const
    {
        if (const int error = m_owner.nextCall())
            return injected(error, false, path());
        return call();
    }

    FaultingFileSystem& m_owner;
};

class FaultingWriteFile final : public ForwardingWriteFile
{
public:
    FaultingWriteFile(FaultingFileSystem& owner, std::unique_ptr<WriteFile> inner)
        : ForwardingWriteFile(std::move(inner))
        , m_owner(owner)
    {
    }

    Status allocate(uint64_t bytes) override
    {
        return guarded([&] { return ForwardingWriteFile::allocate(bytes); });
    }
    bool shareBytesOf(const ReadFile& from) override
    {
        return m_owner.nextCall() == 0 && ForwardingWriteFile::shareBytesOf(from);
    }
    bool writeDirectly() override { return m_owner.nextCall() == 0 && ForwardingWriteFile::writeDirectly(); }
    Status writeAt(uint64_t offset, std::span<const uint8_t> bytes) override
    {
        if (const int error = m_owner.nextCall()) {
            if (m_owner.tornWrites())
                SHARDSCOPE_CHECK(ForwardingWriteFile::writeAt(offset, bytes.first(bytes.size() / 2)));
            return injected(error, true, path());
        }
        return ForwardingWriteFile::writeAt(offset, bytes);
    }
    Status startWriteBack(uint64_t offset, uint64_t bytes) override
    {
        return guarded([&] { return ForwardingWriteFile::startWriteBack(offset, bytes); });
    }
    Status sync() override
    {
        return guarded([&] { return ForwardingWriteFile::sync(); });
    }
    Status close() override
    {
        return guarded([&] { return ForwardingWriteFile::close(); });
    }

private:
    template <class Call>
    Status guarded(Call call)
    {
        if (const int error = m_owner.nextCall())
            return injected(error, true, path());
        return call();
    }

    FaultingFileSystem& m_owner;
};

} // namespace

FaultingFileSystem::FaultingFileSystem(FileSystem& inner)
    : m_inner(inner)
{
}

FaultingFileSystem::FaultingFileSystem(FileSystem& inner, Fault fault)
    : m_inner(inner)
    , m_fault(fault)
{
}

int FaultingFileSystem::nextCall()
{
    const uint64_t number = ++m_calls;
    if (m_fault.callNumber == 0 || number < m_fault.callNumber
        || (number > m_fault.callNumber && !m_fault.repeat))
        return 0;
    if (m_fault.kills)
        ::kill(::getpid(), SIGKILL);
    m_hit = true;
    return m_fault.errnoValue;
}

Result<std::unique_ptr<ReadFile>> FaultingFileSystem::openRead(const Path& path)
{
    if (const int error = nextCall())
        return injected(error, false, path);
    SHARDSCOPE_TRY(auto file, m_inner.openRead(path));
    return std::unique_ptr<ReadFile>(std::make_unique<FaultingReadFile>(*this, std::move(file)));
}

Result<std::unique_ptr<WriteFile>> FaultingFileSystem::create(const Path& path, uint32_t mode)
{
    if (const int error = nextCall())
        return injected(error, true, path);
    SHARDSCOPE_TRY(auto file, m_inner.create(path, mode));
    return std::unique_ptr<WriteFile>(std::make_unique<FaultingWriteFile>(*this, std::move(file)));
}

Result<std::unique_ptr<WriteFile>> FaultingFileSystem::openShared(const Path& path, uint32_t mode)
{
    if (const int error = nextCall())
        return injected(error, true, path);
    SHARDSCOPE_TRY(auto file, m_inner.openShared(path, mode));
    return std::unique_ptr<WriteFile>(std::make_unique<FaultingWriteFile>(*this, std::move(file)));
}

Status FaultingFileSystem::appendSynced(const Path& path, std::string_view text)
{
    if (const int error = nextCall()) {
        if (m_fault.tornWrites)
            SHARDSCOPE_CHECK(m_inner.appendSynced(path, text.substr(0, text.size() / 2)));
        return injected(error, true, path);
    }
    return m_inner.appendSynced(path, text);
}

Result<std::string> FaultingFileSystem::readSmall(const Path& path, uint64_t limitBytes)
{
    if (const int error = nextCall())
        return injected(error, false, path);
    return m_inner.readSmall(path, limitBytes);
}

Result<FileInfo> FaultingFileSystem::stat(const Path& path)
{
    if (const int error = nextCall())
        return injected(error, false, path);
    return m_inner.stat(path);
}

Result<std::vector<DirectoryEntry>> FaultingFileSystem::list(const Path& path)
{
    if (const int error = nextCall())
        return injected(error, false, path);
    return m_inner.list(path);
}

Result<Path> FaultingFileSystem::canonical(const Path& path)
{
    if (const int error = nextCall())
        return injected(error, false, path);
    return m_inner.canonical(path);
}

Result<Space> FaultingFileSystem::space(const Path& path)
{
    if (const int error = nextCall())
        return injected(error, false, path);
    return m_inner.space(path);
}

bool FaultingFileSystem::canShareBytes(const Path& file, const Path& folder)
{
    return nextCall() == 0 && m_inner.canShareBytes(file, folder);
}

Status FaultingFileSystem::makeDirectory(const Path& path, uint32_t mode)
{
    if (const int error = nextCall())
        return injected(error, true, path);
    return m_inner.makeDirectory(path, mode);
}

Status FaultingFileSystem::makeDirectories(const Path& path)
{
    if (const int error = nextCall())
        return injected(error, true, path);
    return m_inner.makeDirectories(path);
}

Status FaultingFileSystem::removeFile(const Path& path)
{
    if (const int error = nextCall())
        return injected(error, true, path);
    return m_inner.removeFile(path);
}

Status FaultingFileSystem::removeTree(const Path& path)
{
    if (const int error = nextCall())
        return injected(error, true, path);
    return m_inner.removeTree(path);
}

Status FaultingFileSystem::rename(const Path& from, const Path& to)
{
    if (const int error = nextCall())
        return injected(error, true, to);
    return m_inner.rename(from, to);
}

Status FaultingFileSystem::renameNoReplace(const Path& from, const Path& to)
{
    if (const int error = nextCall())
        return injected(error, true, to);
    return m_inner.renameNoReplace(from, to);
}

Status FaultingFileSystem::exchange(const Path& a, const Path& b)
{
    if (const int error = nextCall())
        return injected(error, true, b);
    return m_inner.exchange(a, b);
}

Status FaultingFileSystem::syncDirectory(const Path& path)
{
    if (const int error = nextCall())
        return injected(error, true, path);
    return m_inner.syncDirectory(path);
}

Status FaultingFileSystem::setMode(const Path& path, uint32_t mode)
{
    if (const int error = nextCall())
        return injected(error, true, path);
    return m_inner.setMode(path, mode);
}

Result<std::unique_ptr<FileLock>> FaultingFileSystem::lock(const Path& path, LockKind kind)
{
    if (const int error = nextCall())
        return injected(error, true, path);
    return m_inner.lock(path, kind);
}

} // namespace shardscope::io
