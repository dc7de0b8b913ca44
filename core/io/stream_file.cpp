// SPDX-License-Identifier: Apache-2.0
#include "core/io/stream_file.h"

#include "core/io/errno_error.h"
#include "core/io/posix_descriptor.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>

namespace shardscope::io {

namespace {

constexpr size_t kCallLimit = size_t{1} << 30; // a call takes no more than 2 GiB
constexpr int kWaitMs = 200; // between two looks whether the job was stopped

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

Status StreamFile::write(std::span<const uint8_t> bytes, const JobContext& job)
{
    while (!bytes.empty()) {
        SHARDSCOPE_CHECK(job.poll());
        const size_t piece = std::min(bytes.size(), kCallLimit);
        const iovec part{const_cast<uint8_t*>(bytes.data()), piece};
        // A signal does not end a write that waits: the program takes signals from a descriptor.
        const ssize_t count = retryInterrupted([&] {
            return m_mayBlock ? ::write(m_descriptor, bytes.data(), piece)
                              : ::pwritev2(m_descriptor, &part, 1, -1, RWF_NOWAIT);
        });
        if (count < 0 && !m_mayBlock && (errno == EOPNOTSUPP || errno == EINVAL || errno == ENOSYS)) {
            m_mayBlock = true;
            continue;
        }
        if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            pollfd wait{m_descriptor, POLLOUT, 0};
            (void)::poll(&wait, 1, kWaitMs);
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
