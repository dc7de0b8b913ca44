// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/io/file_system.h"

#include <sys/stat.h>

#include <cerrno>
#include <utility>

namespace shardscope::io {

/// Owns a file descriptor.
class Descriptor
{
public:
    Descriptor() = default;
    explicit Descriptor(int value)
        : m_value(value)
    {
    }
    ~Descriptor() { closeSilently(); }
    Descriptor(Descriptor&& other) noexcept
        : m_value(std::exchange(other.m_value, -1))
    {
    }
    Descriptor& operator=(Descriptor&& other) noexcept
    {
        if (this != &other) {
            closeSilently();
            m_value = std::exchange(other.m_value, -1);
        }
        return *this;
    }

    [[nodiscard]] int get() const { return m_value; }
    [[nodiscard]] bool isOpen() const { return m_value >= 0; }
    /// Gives it away.
    [[nodiscard]] int release() { return std::exchange(m_value, -1); }
    /// The errno of closing, or 0. Linux frees the descriptor in every case, so EINTR is not a failure.
    int close();

private:
    void closeSilently();

    int m_value = -1;
};

/// Repeats a call that a signal interrupted.
template <class Call>
auto retryInterrupted(Call call)
{
    auto result = call();
    while (result == -1 && errno == EINTR)
        result = call();
    return result;
}

FileIdentity identityOf(const struct stat& status);
FileType typeOf(mode_t mode);

/// The file of `descriptor`, which must be a regular one that was opened for reading.
std::unique_ptr<ReadFile> makePosixReadFile(Descriptor descriptor, Path path, const FileIdentity& identity);
std::unique_ptr<WriteFile> makePosixWriteFile(Descriptor descriptor, Path path);

/// The same file, for direct I/O; not open where the file system refuses it. `flags`: O_RDONLY or O_WRONLY.
Descriptor reopenedDirect(int descriptor, int flags);

/// Reads until `out` is full or the file ends; the count, or -1 with errno set.
ssize_t readFully(int descriptor, uint64_t offset, std::span<uint8_t> out);
/// Writes everything at the descriptor's own position (append); 0 or an errno.
int writeFully(int descriptor, std::string_view text);

} // namespace shardscope::io
