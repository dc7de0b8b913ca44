/* SPDX-License-Identifier: Apache-2.0 */
/* Preloaded into the program by tests: direct I/O fails with EINVAL, from open() on where NO_DIRECT_IO_AFTER is 0,
   else after so many direct calls, as on file systems that accept the flag and refuse a call. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

static long limit(void)
{
    const char* text = getenv("NO_DIRECT_IO_AFTER");
    return text == NULL ? 0 : atol(text);
}

static int refused(int descriptor)
{
    static long calls = 0;
    const int flags = fcntl(descriptor, F_GETFL);
    if (flags < 0 || (flags & O_DIRECT) == 0 || __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED) <= limit())
        return 0;
    errno = EINVAL;
    return 1;
}

static int openAny(const char* name, const char* path, int flags, mode_t mode)
{
    if ((flags & O_DIRECT) != 0 && limit() == 0) {
        errno = EINVAL;
        return -1;
    }
    int (*next)(const char*, int, ...) = (int (*)(const char*, int, ...))dlsym(RTLD_NEXT, name);
    return next(path, flags, mode);
}

static mode_t modeOf(int flags, va_list more)
{
    return (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(more, mode_t) : 0;
}

int open(const char* path, int flags, ...)
{
    va_list more;
    va_start(more, flags);
    const mode_t mode = modeOf(flags, more);
    va_end(more);
    return openAny("open", path, flags, mode);
}

int open64(const char* path, int flags, ...)
{
    va_list more;
    va_start(more, flags);
    const mode_t mode = modeOf(flags, more);
    va_end(more);
    return openAny("open64", path, flags, mode);
}

typedef ssize_t (*Write)(int, const void*, size_t, off_t);
typedef ssize_t (*Read)(int, void*, size_t, off_t);

ssize_t pwrite(int descriptor, const void* bytes, size_t count, off_t offset)
{
    return refused(descriptor) ? -1 : ((Write)dlsym(RTLD_NEXT, "pwrite"))(descriptor, bytes, count, offset);
}

ssize_t pwrite64(int descriptor, const void* bytes, size_t count, off_t offset)
{
    return refused(descriptor) ? -1 : ((Write)dlsym(RTLD_NEXT, "pwrite64"))(descriptor, bytes, count, offset);
}

ssize_t pread(int descriptor, void* bytes, size_t count, off_t offset)
{
    return refused(descriptor) ? -1 : ((Read)dlsym(RTLD_NEXT, "pread"))(descriptor, bytes, count, offset);
}

ssize_t pread64(int descriptor, void* bytes, size_t count, off_t offset)
{
    return refused(descriptor) ? -1 : ((Read)dlsym(RTLD_NEXT, "pread64"))(descriptor, bytes, count, offset);
}
