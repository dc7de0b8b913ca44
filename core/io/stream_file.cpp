// SPDX-License-Identifier: Apache-2.0
#include "core/io/stream_file.h"

#include "core/io/errno_error.h"
#include "core/io/posix_descriptor.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>

namespace shardscope::io {

namespace {

constexpr size_t kCallLimit = size_t{1} << 30; // a call takes no more than 2 GiB

Path nameOf(int descriptor)
{
    return "descriptor " + std::to_string(descriptor);
}

} // namespace

Result<StreamFile> StreamFile::of(int descriptor)
{
    const int flags = descriptor < 0 ? -1 : ::fcntl(descriptor, F_GETFL);
    struct stat status {
    };
    const bool writes = flags >= 0 && (flags & O_ACCMODE) != O_RDONLY && (flags & O_PATH) == 0;
    if (!writes || ::fstat(descriptor, &status) != 0)
        return fail(ErrorCode::Usage, "it is not open for writing", nameOf(descriptor));
    return StreamFile(descriptor, identityOf(status));
}

bool StreamFile::isTerminal() const
{
    return ::isatty(m_descriptor) == 1;
}

Status StreamFile::write(std::span<const uint8_t> bytes)
{
    while (!bytes.empty()) {
        const ssize_t count = retryInterrupted(
            [&] { return ::write(m_descriptor, bytes.data(), std::min(bytes.size(), kCallLimit)); });
        if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            pollfd wait{m_descriptor, POLLOUT, 0};
            (void)::poll(&wait, 1, 1000);
            continue;
        }
        if (count <= 0)
            return forward(errorFromErrno(count == 0 ? ENOSPC : errno, true,
                "cannot write " + std::to_string(bytes.size()) + " bytes", nameOf(m_descriptor)));
        bytes = bytes.subspan(static_cast<size_t>(count));
    }
    return {};
}

} // namespace shardscope::io
