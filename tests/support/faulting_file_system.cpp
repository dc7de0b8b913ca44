// SPDX-License-Identifier: Apache-2.0
#include "tests/support/faulting_file_system.h"

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
    : ForwardingFileSystem(inner)
{
}

FaultingFileSystem::FaultingFileSystem(FileSystem& inner, Fault fault)
    : ForwardingFileSystem(inner)
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

Status FaultingFileSystem::beforeRead(const Path& path)
{
    if (const int error = nextCall())
        return injected(error, false, path);
    return {};
}

Status FaultingFileSystem::beforeWrite(const Path& path, const Path* /*further*/)
{
    if (const int error = nextCall())
        return injected(error, true, path);
    return {};
}

Result<std::unique_ptr<ReadFile>> FaultingFileSystem::openRead(const Path& path)
{
    SHARDSCOPE_TRY(auto file, ForwardingFileSystem::openRead(path));
    return std::unique_ptr<ReadFile>(std::make_unique<FaultingReadFile>(*this, std::move(file)));
}

Result<std::unique_ptr<WriteFile>> FaultingFileSystem::create(const Path& path, uint32_t mode)
{
    SHARDSCOPE_TRY(auto file, ForwardingFileSystem::create(path, mode));
    return std::unique_ptr<WriteFile>(std::make_unique<FaultingWriteFile>(*this, std::move(file)));
}

Result<std::unique_ptr<WriteFile>> FaultingFileSystem::openShared(const Path& path, uint32_t mode)
{
    SHARDSCOPE_TRY(auto file, ForwardingFileSystem::openShared(path, mode));
    return std::unique_ptr<WriteFile>(std::make_unique<FaultingWriteFile>(*this, std::move(file)));
}

Status FaultingFileSystem::appendSynced(const Path& path, std::string_view text)
{
    const Status before = beforeWrite(path, nullptr);
    if (before || m_fault.tornWrites)
        SHARDSCOPE_CHECK(inner().appendSynced(path, before ? text : text.substr(0, text.size() / 2)));
    return before;
}

} // namespace shardscope::io
