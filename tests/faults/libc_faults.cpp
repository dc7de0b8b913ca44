// SPDX-License-Identifier: Apache-2.0
// Functions of this program that take the place of the C library's, for the code of the product and for the
// C++ library alike. Each has another name in C++ than for the linker: the headers declare the real ones.
#include "tests/faults/libc_faults.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <new>

#include <dirent.h>
#include <dlfcn.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace shardscope::test {
namespace {

std::atomic<bool> g_countsFiles = false;
std::atomic<bool> g_countsThreads = false;
std::atomic<bool> g_countsMemory = false;
std::atomic<uint64_t> g_calls = 0;
std::atomic<const char*> g_failed = nullptr;
std::atomic<int> g_processors = 1;
LibcFault g_libc;
ThreadFault g_threads;
MemoryFault g_memory;

constexpr size_t kLargeBytes = size_t{64} << 10;

bool failsNow(const char* name)
{
    if (!g_countsFiles || ++g_calls != g_libc.callNumber)
        return false;
    g_failed = name;
    errno = g_libc.errnoValue;
    return true;
}

void* allocated(size_t bytes, size_t alignment)
{
    if (g_countsMemory && bytes >= kLargeBytes && ++g_calls == g_memory.allocationNumber) {
        g_failed = "operator new";
        throw std::bad_alloc();
    }
    bytes = (std::max<size_t>(bytes, 1) + alignment - 1) / alignment * alignment;
    void* const out = std::aligned_alloc(alignment, bytes);
    if (out == nullptr)
        throw std::bad_alloc();
    return out;
}

template <class Function>
Function next(const char* name)
{
    return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

/// Pipes, terminals, events and memory files of the process are not meant.
bool isOfFile(int descriptor)
{
    static const auto real = next<int (*)(int, struct stat*)>("fstat");
    struct stat status {
    };
    return descriptor > STDERR_FILENO && real(descriptor, &status) == 0
        && ((S_ISREG(status.st_mode) && status.st_nlink > 0) || S_ISDIR(status.st_mode));
}

} // namespace

FaultsHere::FaultsHere(LibcFault fault)
{
    g_libc = fault;
    g_calls = 0;
    g_failed = nullptr;
    g_countsFiles = true;
}

FaultsHere::FaultsHere(ThreadFault fault)
{
    g_threads = fault;
    g_calls = 0;
    g_failed = nullptr;
    g_countsThreads = true;
}

FaultsHere::FaultsHere(MemoryFault fault)
{
    g_memory = fault;
    g_calls = 0;
    g_failed = nullptr;
    g_countsMemory = true;
}

FaultsHere::~FaultsHere()
{
    g_countsMemory = false;
    g_countsFiles = false;
    g_countsThreads = false;
}

uint64_t FaultsHere::calls() const
{
    return g_calls;
}

const char* FaultsHere::failed() const
{
    return g_failed;
}

void setProcessors(int count)
{
    g_processors = count;
}

} // namespace shardscope::test

void* operator new(size_t bytes)
{
    return shardscope::test::allocated(bytes, __STDCPP_DEFAULT_NEW_ALIGNMENT__);
}

void* operator new(size_t bytes, std::align_val_t alignment)
{
    return shardscope::test::allocated(bytes, static_cast<size_t>(alignment));
}

void operator delete(void* memory) noexcept
{
    std::free(memory);
}

void operator delete(void* memory, size_t /*bytes*/) noexcept
{
    std::free(memory);
}

void operator delete(void* memory, std::align_val_t /*alignment*/) noexcept
{
    std::free(memory);
}

void operator delete(void* memory, size_t /*bytes*/, std::align_val_t /*alignment*/) noexcept
{
    std::free(memory);
}

// NOLINTBEGIN
#define REPLACED(result, symbol, parameters)                                                                 \
    extern "C" result replaced_##symbol parameters __asm__(#symbol);                                         \
    result replaced_##symbol parameters
#define REAL(result, symbol, parameters)                                                                     \
    static const auto real = shardscope::test::next<result(*) parameters>(#symbol)

/// A function with a path.
#define BY_PATH(result, symbol, bad, parameters, arguments)                                                  \
    REPLACED(result, symbol, parameters)                                                                     \
    {                                                                                                        \
        REAL(result, symbol, parameters);                                                                    \
        return shardscope::test::failsNow(#symbol) ? bad : real arguments;                                   \
    }
/// A function whose first parameter is a descriptor `fd`.
#define BY_DESCRIPTOR(result, symbol, parameters, arguments)                                                 \
    REPLACED(result, symbol, parameters)                                                                     \
    {                                                                                                        \
        REAL(result, symbol, parameters);                                                                    \
        return shardscope::test::isOfFile(fd) && shardscope::test::failsNow(#symbol) ? -1 : real arguments;  \
    }

BY_PATH(int, open, -1, (const char* path, int flags, mode_t mode), (path, flags, mode))
BY_PATH(int, open64, -1, (const char* path, int flags, mode_t mode), (path, flags, mode))
BY_PATH(int, openat, -1, (int at, const char* path, int flags, mode_t mode), (at, path, flags, mode))
BY_PATH(int, openat64, -1, (int at, const char* path, int flags, mode_t mode), (at, path, flags, mode))
BY_PATH(int, stat, -1, (const char* path, struct stat* out), (path, out))
BY_PATH(int, stat64, -1, (const char* path, void* out), (path, out))
BY_PATH(int, lstat, -1, (const char* path, struct stat* out), (path, out))
BY_PATH(int, lstat64, -1, (const char* path, void* out), (path, out))
BY_PATH(int, fstatat, -1, (int at, const char* path, struct stat* out, int flags), (at, path, out, flags))
BY_PATH(int, fstatat64, -1, (int at, const char* path, void* out, int flags), (at, path, out, flags))
BY_PATH(DIR*, opendir, nullptr, (const char* path), (path))
BY_PATH(int, rename, -1, (const char* from, const char* to), (from, to))
BY_PATH(int, renameat, -1, (int a, const char* from, int b, const char* to), (a, from, b, to))
BY_PATH(int, renameat2, -1, (int a, const char* from, int b, const char* to, unsigned flags),
    (a, from, b, to, flags))
BY_PATH(int, mkdir, -1, (const char* path, mode_t mode), (path, mode))
BY_PATH(int, mkdirat, -1, (int at, const char* path, mode_t mode), (at, path, mode))
BY_PATH(int, remove, -1, (const char* path), (path))
BY_PATH(int, unlink, -1, (const char* path), (path))
BY_PATH(int, rmdir, -1, (const char* path), (path))
BY_PATH(int, unlinkat, -1, (int at, const char* path, int flags), (at, path, flags))
BY_PATH(int, chmod, -1, (const char* path, mode_t mode), (path, mode))
BY_PATH(int, fchmodat, -1, (int at, const char* path, mode_t mode, int flags), (at, path, mode, flags))
BY_PATH(int, statvfs, -1, (const char* path, struct statvfs* out), (path, out))
BY_PATH(int, statvfs64, -1, (const char* path, void* out), (path, out))
BY_PATH(char*, realpath, nullptr, (const char* path, char* out), (path, out))
BY_PATH(ssize_t, readlink, -1, (const char* path, char* out, size_t size), (path, out, size))
BY_PATH(ssize_t, readlinkat, -1, (int at, const char* path, char* out, size_t size), (at, path, out, size))
BY_PATH(int, linkat, -1, (int a, const char* from, int b, const char* to, int flags), (a, from, b, to, flags))
BY_PATH(int, access, -1, (const char* path, int mode), (path, mode))

/// openat2() has no function of its own.
REPLACED(long, syscall, (long number, long a, long b, long c, long d, long e, long f))
{
    REAL(long, syscall, (long, long, long, long, long, long, long));
    const bool counts = number == SYS_openat2;
    return counts && shardscope::test::failsNow("openat2") ? -1 : real(number, a, b, c, d, e, f);
}

BY_DESCRIPTOR(ssize_t, pread, (int fd, void* out, size_t size, off_t at), (fd, out, size, at))
BY_DESCRIPTOR(ssize_t, pread64, (int fd, void* out, size_t size, off_t at), (fd, out, size, at))
BY_DESCRIPTOR(ssize_t, pwrite, (int fd, const void* bytes, size_t size, off_t at), (fd, bytes, size, at))
BY_DESCRIPTOR(ssize_t, pwrite64, (int fd, const void* bytes, size_t size, off_t at), (fd, bytes, size, at))
BY_DESCRIPTOR(ssize_t, read, (int fd, void* out, size_t size), (fd, out, size))
BY_DESCRIPTOR(ssize_t, write, (int fd, const void* bytes, size_t size), (fd, bytes, size))
BY_DESCRIPTOR(int, fdatasync, (int fd), (fd))
BY_DESCRIPTOR(int, fsync, (int fd), (fd))
BY_DESCRIPTOR(int, sync_file_range, (int fd, off_t at, off_t size, unsigned flags), (fd, at, size, flags))
BY_DESCRIPTOR(int, fallocate, (int fd, int mode, off_t at, off_t size), (fd, mode, at, size))
BY_DESCRIPTOR(int, fallocate64, (int fd, int mode, off_t at, off_t size), (fd, mode, at, size))
BY_DESCRIPTOR(int, ftruncate, (int fd, off_t size), (fd, size))
BY_DESCRIPTOR(int, ftruncate64, (int fd, off_t size), (fd, size))
BY_DESCRIPTOR(int, ioctl, (int fd, unsigned long request, void* value), (fd, request, value))
BY_DESCRIPTOR(int, flock, (int fd, int operation), (fd, operation))
BY_DESCRIPTOR(int, fchmod, (int fd, mode_t mode), (fd, mode))
BY_DESCRIPTOR(int, fstat, (int fd, struct stat* out), (fd, out))
BY_DESCRIPTOR(int, fstat64, (int fd, void* out), (fd, out))

REPLACED(DIR*, fdopendir, (int fd))
{
    REAL(DIR*, fdopendir, (int));
    return shardscope::test::failsNow("fdopendir") ? nullptr : real(fd);
}

REPLACED(struct dirent*, readdir, (DIR * folder))
{
    REAL(struct dirent*, readdir, (DIR*));
    return shardscope::test::failsNow("readdir") ? nullptr : real(folder);
}

REPLACED(struct dirent64*, readdir64, (DIR * folder))
{
    REAL(struct dirent64*, readdir64, (DIR*));
    return shardscope::test::failsNow("readdir64") ? nullptr : real(folder);
}

REPLACED(int, close, (int fd))
{
    REAL(int, close, (int));
    const bool counts = shardscope::test::isOfFile(fd);
    const int result = real(fd);
    return counts && shardscope::test::failsNow("close") ? -1 : result;
}

REPLACED(int, pthread_create,
    (pthread_t * thread, const pthread_attr_t* attributes, void* (*run)(void*), void* argument))
{
    using namespace shardscope::test;
    REAL(int, pthread_create, (pthread_t*, const pthread_attr_t*, void* (*)(void*), void*));
    if (g_countsThreads) {
        const uint64_t number = ++g_calls;
        const bool isLater = g_threads.andLater && number > g_threads.threadNumber;
        if (g_threads.threadNumber != 0 && (number == g_threads.threadNumber || isLater)) {
            g_failed = "pthread_create";
            return EAGAIN;
        }
    }
    return real(thread, attributes, run, argument);
}

REPLACED(int, get_nprocs, ())
{
    return shardscope::test::g_processors;
}
// NOLINTEND
