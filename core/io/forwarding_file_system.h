// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/io/file_system.h"

#include <utility>

namespace shardscope::io {

/// Passes every call on to another file; a base for files that change some calls.
class ForwardingReadFile : public ReadFile
{
public:
    explicit ForwardingReadFile(std::unique_ptr<ReadFile> inner)
        : m_inner(std::move(inner))
    {
    }

    [[nodiscard]] uint64_t size() const override { return m_inner->size(); }
    [[nodiscard]] const Path& path() const override { return m_inner->path(); }
    [[nodiscard]] const FileIdentity& identity() const override { return m_inner->identity(); }
    Status readAt(uint64_t offset, std::span<uint8_t> out) const override
    {
        return m_inner->readAt(offset, out);
    }
    Status readFromDevice(uint64_t offset, std::span<uint8_t> out) const override
    {
        return m_inner->readFromDevice(offset, out);
    }
    [[nodiscard]] bool readsDirectly() const override { return m_inner->readsDirectly(); }
    [[nodiscard]] uint64_t readyBytes(uint64_t offset) const override { return m_inner->readyBytes(offset); }
    void readAhead(uint64_t offset, uint64_t bytes) const override { m_inner->readAhead(offset, bytes); }
    void dropCache(uint64_t offset, uint64_t bytes) const override { m_inner->dropCache(offset, bytes); }
    Status checkUnchanged() const override { return m_inner->checkUnchanged(); }

    [[nodiscard]] const ReadFile& inner() const { return *m_inner; }

private:
    std::unique_ptr<ReadFile> m_inner;
};

/// The same for a file that is written.
class ForwardingWriteFile : public WriteFile
{
public:
    explicit ForwardingWriteFile(std::unique_ptr<WriteFile> inner)
        : m_inner(std::move(inner))
    {
    }

    [[nodiscard]] const Path& path() const override { return m_inner->path(); }
    Status allocate(uint64_t bytes) override { return m_inner->allocate(bytes); }
    bool shareBytesOf(const ReadFile& from) override { return m_inner->shareBytesOf(from); }
    Status writeAt(uint64_t offset, std::span<const uint8_t> bytes) override
    {
        return m_inner->writeAt(offset, bytes);
    }
    bool writeDirectly() override { return m_inner->writeDirectly(); }
    [[nodiscard]] bool isDirect() const override { return m_inner->isDirect(); }
    Status startWriteBack(uint64_t offset, uint64_t bytes) override
    {
        return m_inner->startWriteBack(offset, bytes);
    }
    Status sync() override { return m_inner->sync(); }
    Status close() override { return m_inner->close(); }

private:
    std::unique_ptr<WriteFile> m_inner;
};

/// The same for a file system. Thread-safe as the other one is, which must live longer.
class ForwardingFileSystem : public FileSystem
{
public:
    explicit ForwardingFileSystem(FileSystem& inner)
        : m_inner(inner)
    {
    }

    Result<std::unique_ptr<ReadFile>> openRead(const Path& path) override
    {
        return after(beforeRead(path), [&] { return m_inner.openRead(path); });
    }
    Result<std::unique_ptr<WriteFile>> create(const Path& path, uint32_t mode) override
    {
        return after(beforeWrite(path), [&] { return m_inner.create(path, mode); });
    }
    Result<std::unique_ptr<WriteFile>> openShared(const Path& path, uint32_t mode) override
    {
        return after(beforeWrite(path), [&] { return m_inner.openShared(path, mode); });
    }
    Status appendSynced(const Path& path, std::string_view text) override
    {
        return after(beforeWrite(path), [&] { return m_inner.appendSynced(path, text); });
    }
    Result<std::string> readSmall(const Path& path, uint64_t limitBytes) override
    {
        return after(beforeRead(path), [&] { return m_inner.readSmall(path, limitBytes); });
    }
    Result<FileInfo> stat(const Path& path) override
    {
        return after(beforeRead(path), [&] { return m_inner.stat(path); });
    }
    Result<std::vector<DirectoryEntry>> list(const Path& path) override
    {
        return after(beforeRead(path), [&] { return m_inner.list(path); });
    }
    Result<Path> canonical(const Path& path) override
    {
        return after(beforeRead(path), [&] { return m_inner.canonical(path); });
    }
    Result<Space> space(const Path& path) override
    {
        return after(beforeRead(path), [&] { return m_inner.space(path); });
    }
    [[nodiscard]] double secondsHeldBack() const override { return m_inner.secondsHeldBack(); }
    bool canShareBytes(const Path& file, const Path& folder) override
    {
        return beforeWrite(folder, &file) && m_inner.canShareBytes(file, folder);
    }
    Status makeDirectory(const Path& path, uint32_t mode) override
    {
        return after(beforeWrite(path), [&] { return m_inner.makeDirectory(path, mode); });
    }
    Status makeDirectories(const Path& path) override
    {
        return after(beforeWrite(path), [&] { return m_inner.makeDirectories(path); });
    }
    Status removeFile(const Path& path) override
    {
        return after(beforeWrite(path), [&] { return m_inner.removeFile(path); });
    }
    Status removeTree(const Path& path) override
    {
        return after(beforeWrite(path), [&] { return m_inner.removeTree(path); });
    }
    Status rename(const Path& from, const Path& to) override
    {
        return after(beforeWrite(to, &from), [&] { return m_inner.rename(from, to); });
    }
    Status renameNoReplace(const Path& from, const Path& to) override
    {
        return after(beforeWrite(to, &from), [&] { return m_inner.renameNoReplace(from, to); });
    }
    Status exchange(const Path& a, const Path& b) override
    {
        return after(beforeWrite(b, &a), [&] { return m_inner.exchange(a, b); });
    }
    Status syncDirectory(const Path& path) override
    {
        return after(beforeWrite(path), [&] { return m_inner.syncDirectory(path); });
    }
    Status setMode(const Path& path, uint32_t mode) override
    {
        return after(beforeWrite(path), [&] { return m_inner.setMode(path, mode); });
    }
    Result<std::unique_ptr<FileLock>> lock(const Path& path, LockKind kind) override
    {
        return after(beforeWrite(path), [&] { return m_inner.lock(path, kind); });
    }

protected:
    /// Called before a call is passed on, which is not done after an error. `further`: the first path of
    /// exchange(), or the path that is renamed or whose bytes are shared.
    virtual Status beforeRead(const Path& /*path*/) { return {}; }
    virtual Status beforeWrite(const Path& /*path*/, const Path* /*further*/ = nullptr) { return {}; }
    /// For the calls for many files or ranges, which are single ones here: a file system that changes no
    /// single call passes them on.
    [[nodiscard]] FileSystem& inner() const { return m_inner; }

private:
    template <class Call>
    static auto after(Status before, const Call& call) -> decltype(call())
    {
        if (!before)
            return forward(std::move(before).error());
        return call();
    }

    FileSystem& m_inner;
};

} // namespace shardscope::io
