// SPDX-License-Identifier: Apache-2.0
#include "core/io/errno_error.h"
#include "core/io/posix_descriptor.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <mutex>

namespace shardscope::io {

namespace {

/// Linux transfers at most this much per call.
constexpr size_t kCallLimit = size_t{1} << 30;

std::string rangeText(uint64_t offset, uint64_t bytes)
{
    return std::to_string(bytes) + " bytes at offset " + std::to_string(offset);
}

/// The whole blocks at the start of the buffer, if it and `offset` are aligned for direct I/O.
size_t directPart(uint64_t offset, std::span<const uint8_t> buffer)
{
    const bool aligned = offset % kDirectAlignment == 0
        && reinterpret_cast<uintptr_t>(buffer.data()) % kDirectAlignment == 0;
    return aligned ? buffer.size() / kDirectAlignment * kDirectAlignment : 0;
}

class PosixReadFile final : public ReadFile
{
public:
    PosixReadFile(Descriptor descriptor, Path path, const FileIdentity& identity)
        : m_descriptor(std::move(descriptor))
        , m_path(std::move(path))
        , m_identity(identity)
    {
    }

    [[nodiscard]] uint64_t size() const override { return m_identity.bytes; }
    [[nodiscard]] const Path& path() const override { return m_path; }
    [[nodiscard]] const FileIdentity& identity() const override { return m_identity; }

    Status readAt(uint64_t offset, std::span<uint8_t> out) const override
    {
        const auto endsEarly = [&] {
            return fail(
                ErrorCode::Damaged, "the file ends before " + rangeText(offset, out.size()), m_path.string());
        };
        if (offset > m_identity.bytes || out.size() > m_identity.bytes - offset)
            return endsEarly();
        const ssize_t count = readFully(m_descriptor.get(), offset, out);
        if (count < 0)
            return forward(
                errorFromErrno(errno, false, "cannot read " + rangeText(offset, out.size()), m_path));
        if (static_cast<size_t>(count) != out.size())
            return endsEarly(); // it was truncated after it was opened
        return {};
    }

    Status readFromDevice(uint64_t offset, std::span<uint8_t> out) const override
    {
        if (offset > m_identity.bytes || out.size() > m_identity.bytes - offset)
            return readAt(offset, out); // reports it
        const size_t blocks = readsDirectly() ? directPart(offset, out) : 0;
        if (blocks > 0) {
            const ssize_t count = readFully(m_direct.get(), offset, out.first(blocks));
            if (count < 0 && errno != EINVAL)
                return forward(
                    errorFromErrno(errno, false, "cannot read " + rangeText(offset, blocks), m_path));
            if (count >= 0 && static_cast<size_t>(count) == blocks) {
                offset += blocks;
                out = out.subspan(blocks);
            }
        }
        if (out.empty())
            return {};
        dropCache(offset, out.size());
        return readAt(offset, out);
    }

    [[nodiscard]] bool readsDirectly() const override
    {
        std::call_once(m_directOnce, [&] { m_direct = reopenedDirect(m_descriptor.get(), O_RDONLY); });
        return m_direct.isOpen();
    }

    void readAhead(uint64_t offset, uint64_t bytes) const override
    {
        ::posix_fadvise(
            m_descriptor.get(), static_cast<off_t>(offset), static_cast<off_t>(bytes), POSIX_FADV_WILLNEED);
    }

    void dropCache(uint64_t offset, uint64_t bytes) const override
    {
        ::posix_fadvise(
            m_descriptor.get(), static_cast<off_t>(offset), static_cast<off_t>(bytes), POSIX_FADV_DONTNEED);
    }

    Status checkUnchanged() const override
    {
        struct stat status {
        };
        const bool isThere = ::stat(m_path.c_str(), &status) == 0;
        if (!isThere && errno != ENOENT && errno != ENOTDIR)
            return forward(errorFromErrno(errno, false, "cannot read its attributes", m_path));
        if (!isThere)
            return fail(ErrorCode::SourceChanged, "the file was removed or replaced while it was read",
                m_path.string());
        if (identityOf(status) != m_identity)
            return fail(ErrorCode::SourceChanged, "the file changed while it was read", m_path.string(),
                "wait until no process writes to it, and start again");
        return {};
    }

private:
    Descriptor m_descriptor;
    Path m_path;
    FileIdentity m_identity;
    mutable std::once_flag m_directOnce;
    mutable Descriptor m_direct; ///< opened at the first request
};

class PosixWriteFile final : public WriteFile
{
public:
    PosixWriteFile(Descriptor descriptor, Path path)
        : m_descriptor(std::move(descriptor))
        , m_path(std::move(path))
    {
    }

    [[nodiscard]] const Path& path() const override { return m_path; }

    Status allocate(uint64_t bytes) override
    {
        if (bytes == 0)
            return {};
        const int failed = retryInterrupted(
            [&] { return ::fallocate(m_descriptor.get(), 0, 0, static_cast<off_t>(bytes)); });
        if (failed == 0)
            return {};
        if (errno != EOPNOTSUPP && errno != ENOSYS)
            return forward(
                errorFromErrno(errno, true, "cannot reserve " + std::to_string(bytes) + " bytes", m_path));
        // At least the size: not all parts of a file need to be written before it is read.
        struct stat status {
        };
        const bool isShorter
            = ::fstat(m_descriptor.get(), &status) == 0 && static_cast<uint64_t>(status.st_size) < bytes;
        if (isShorter && ::ftruncate(m_descriptor.get(), static_cast<off_t>(bytes)) != 0)
            return forward(errorFromErrno(
                errno, true, "cannot extend the file to " + std::to_string(bytes) + " bytes", m_path));
        return {};
    }

    bool shareBytesOf(const ReadFile& from) override
    {
        const Descriptor other(retryInterrupted(
            [&] { return ::open(from.path().c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY); }));
        struct stat status {
        };
        return other.isOpen() && ::fstat(other.get(), &status) == 0 && identityOf(status) == from.identity()
            && retryInterrupted([&] { return ::ioctl(m_descriptor.get(), FICLONE, other.get()); }) == 0;
    }

    bool writeDirectly() override
    {
        m_direct = reopenedDirect(m_descriptor.get(), O_WRONLY);
        return m_direct.isOpen();
    }

    [[nodiscard]] bool isDirect() const override { return m_direct.isOpen(); }

    Status writeAt(uint64_t offset, std::span<const uint8_t> bytes) override
    {
        const size_t blocks = m_direct.isOpen() ? directPart(offset, bytes) : 0;
        size_t done = 0;
        while (done < bytes.size()) {
            const bool direct = done < blocks && m_direct.isOpen();
            const size_t piece = std::min((direct ? blocks : bytes.size()) - done, kCallLimit);
            const int descriptor = direct ? m_direct.get() : m_descriptor.get();
            const ssize_t count = retryInterrupted([&] {
                return ::pwrite(descriptor, bytes.data() + done, piece, static_cast<off_t>(offset + done));
            });
            const bool refused = count < 0 && (errno == EINVAL || errno == EOPNOTSUPP);
            if (direct && (refused || (count >= 0 && static_cast<size_t>(count) < piece)))
                m_direct = Descriptor(); // the file system accepted the flag but not the call
            if (direct && refused)
                continue;
            if (count <= 0)
                return forward(errorFromErrno(count == 0 ? ENOSPC : errno, true,
                    "cannot write " + rangeText(offset + done, bytes.size() - done), m_path));
            done += static_cast<size_t>(count);
        }
        return {};
    }

    Status startWriteBack(uint64_t offset, uint64_t bytes) override
    {
        if (m_pendingBytes > 0) {
            // Waits for the previous range, so that at most two ranges are dirty on any device.
            constexpr unsigned kWait
                = SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER;
            SHARDSCOPE_CHECK(syncRange(m_pendingOffset, m_pendingBytes, kWait));
        }
        SHARDSCOPE_CHECK(syncRange(offset, bytes, SYNC_FILE_RANGE_WRITE));
        m_pendingOffset = offset;
        m_pendingBytes = bytes;
        return {};
    }

    Status sync() override
    {
        if (retryInterrupted([&] { return ::fdatasync(m_descriptor.get()); }) != 0)
            return forward(errorFromErrno(errno, true, "cannot sync the file to the disk", m_path));
        return {};
    }

    Status close() override
    {
        if (const int error = m_descriptor.close())
            return forward(errorFromErrno(error, true, "cannot close the file", m_path));
        return {};
    }

private:
    Status syncRange(uint64_t offset, uint64_t bytes, unsigned flags)
    {
        const int failed = retryInterrupted([&] {
            return ::sync_file_range(
                m_descriptor.get(), static_cast<off_t>(offset), static_cast<off_t>(bytes), flags);
        });
        if (failed == 0 || errno == ENOSYS || errno == EINVAL || errno == EOPNOTSUPP)
            return {};
        return forward(errorFromErrno(errno, true, "cannot write back " + rangeText(offset, bytes), m_path));
    }

    Descriptor m_descriptor;
    Descriptor m_direct; ///< for direct I/O, if asked for and possible
    Path m_path;
    uint64_t m_pendingOffset = 0;
    uint64_t m_pendingBytes = 0;
};

} // namespace

int Descriptor::close()
{
    if (m_value < 0)
        return 0;
    const int result = ::close(std::exchange(m_value, -1));
    return result == 0 || errno == EINTR ? 0 : errno;
}

void Descriptor::closeSilently()
{
    if (m_value >= 0)
        ::close(std::exchange(m_value, -1));
}

Descriptor reopenedDirect(int descriptor, int flags)
{
    const std::string path = "/proc/self/fd/" + std::to_string(descriptor);
    return Descriptor(retryInterrupted(
        [&] { return ::open(path.c_str(), flags | O_DIRECT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY); }));
}

std::unique_ptr<ReadFile> makePosixReadFile(Descriptor descriptor, Path path, const FileIdentity& identity)
{
    return std::make_unique<PosixReadFile>(std::move(descriptor), std::move(path), identity);
}

std::unique_ptr<WriteFile> makePosixWriteFile(Descriptor descriptor, Path path)
{
    return std::make_unique<PosixWriteFile>(std::move(descriptor), std::move(path));
}

ssize_t readFully(int descriptor, uint64_t offset, std::span<uint8_t> out)
{
    size_t done = 0;
    while (done < out.size()) {
        const size_t piece = std::min(out.size() - done, kCallLimit);
        const ssize_t count = retryInterrupted(
            [&] { return ::pread(descriptor, out.data() + done, piece, static_cast<off_t>(offset + done)); });
        if (count < 0)
            return -1;
        if (count == 0)
            break;
        done += static_cast<size_t>(count);
    }
    return static_cast<ssize_t>(done);
}

int writeFully(int descriptor, std::string_view text)
{
    while (!text.empty()) {
        const ssize_t count = retryInterrupted([&] { return ::write(descriptor, text.data(), text.size()); });
        if (count <= 0)
            return count == 0 ? ENOSPC : errno;
        text.remove_prefix(static_cast<size_t>(count));
    }
    return 0;
}

} // namespace shardscope::io
