// SPDX-License-Identifier: Apache-2.0
// Preloaded into a program by tests: direct I/O fails with EINVAL. From open() on where NO_DIRECT_IO_AFTER is
// 0, else after so many direct calls, as on file systems that accept the flag and refuse a call.
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdlib>

#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

namespace {

long limit()
{
    const char* const text = std::getenv("NO_DIRECT_IO_AFTER");
    return text == nullptr ? 0 : std::atol(text);
}

bool refuses(int descriptor)
{
    static std::atomic<long> calls = 0;
    const int flags = fcntl(descriptor, F_GETFL);
    if (flags < 0 || (flags & O_DIRECT) == 0 || ++calls <= limit())
        return false;
    errno = EINVAL;
    return true;
}

template <class Function>
Function next(const char* name)
{
    return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

int openFile(const char* name, const char* path, int flags, mode_t mode)
{
    if ((flags & O_DIRECT) != 0 && limit() == 0) {
        errno = EINVAL;
        return -1;
    }
    return next<int (*)(const char*, int, ...)>(name)(path, flags, mode);
}

using Write = ssize_t (*)(int, const void*, size_t, off_t);
using Read = ssize_t (*)(int, void*, size_t, off_t);

} // namespace

extern "C" {

int open(const char* path, int flags, ...)
{
    va_list more;
    va_start(more, flags);
    const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(more, mode_t) : 0;
    va_end(more);
    return openFile("open", path, flags, mode);
}

int open64(const char* path, int flags, ...)
{
    va_list more;
    va_start(more, flags);
    const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(more, mode_t) : 0;
    va_end(more);
    return openFile("open64", path, flags, mode);
}

ssize_t pwrite(int descriptor, const void* bytes, size_t count, off_t offset)
{
    return refuses(descriptor) ? -1 : next<Write>("pwrite")(descriptor, bytes, count, offset);
}

ssize_t pwrite64(int descriptor, const void* bytes, size_t count, off_t offset)
{
    return refuses(descriptor) ? -1 : next<Write>("pwrite64")(descriptor, bytes, count, offset);
}

ssize_t pread(int descriptor, void* bytes, size_t count, off_t offset)
{
    return refuses(descriptor) ? -1 : next<Read>("pread")(descriptor, bytes, count, offset);
}

ssize_t pread64(int descriptor, void* bytes, size_t count, off_t offset)
{
    return refuses(descriptor) ? -1 : next<Read>("pread64")(descriptor, bytes, count, offset);
}
}
