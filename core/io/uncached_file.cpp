// SPDX-License-Identifier: Apache-2.0
#include "core/io/uncached_file.h"

#include "core/io/forwarding_file_system.h"
#include "core/io/posix_descriptor.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

namespace shardscope::io {

namespace {

/// Below that, reading through the page cache is better: the kernel reads neighbours ahead.
constexpr size_t kLargeRange = size_t{128} << 10;
constexpr uint64_t kSmallFile = uint64_t{1} << 20;
/// So much of a file is mapped at a time to look at its pages; none of them is touched.
constexpr uint64_t kWindow = uint64_t{256} << 20;

/// How many pages of [offset, offset + bytes) the page cache has; all, where the kernel does not tell this
/// user.
uint64_t cachedPages(int descriptor, uint64_t offset, uint64_t bytes, uint64_t pageBytes)
{
    const uint64_t pages = (bytes + pageBytes - 1) / pageBytes;
    void* const mapped
        = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, descriptor, static_cast<off_t>(offset));
    if (mapped == MAP_FAILED)
        return pages;
    std::vector<unsigned char> present(pages, 1);
    const bool known = ::mincore(mapped, bytes, present.data()) == 0;
    ::munmap(mapped, bytes);
    if (!known)
        return pages;
    return static_cast<uint64_t>(
        std::count_if(present.begin(), present.end(), [](unsigned char page) { return (page & 1) != 0; }));
}

class UncachedFile final : public ForwardingReadFile
{
public:
    UncachedFile(std::unique_ptr<ReadFile> file, std::shared_ptr<BlockBuffers> buffers)
        : ForwardingReadFile(std::move(file))
        , m_buffers(std::move(buffers))
    {
    }

    Status readAt(uint64_t offset, std::span<uint8_t> out) const override
    {
        if (out.size() < kLargeRange || offset > size() || out.size() > size() - offset)
            return inner().readAt(offset, out);
        const BlockBuffers::Lease lease(*m_buffers);
        while (!out.empty()) {
            const uint64_t begin = offset / kDirectAlignment * kDirectAlignment;
            const size_t skipped = static_cast<size_t>(offset - begin);
            const uint64_t wanted
                = (skipped + out.size() + kDirectAlignment - 1) / kDirectAlignment * kDirectAlignment;
            const std::span<uint8_t> blocks = lease.bytes().first(
                static_cast<size_t>(std::min<uint64_t>({wanted, lease.bytes().size(), size() - begin})));
            SHARDSCOPE_CHECK(inner().readFromDevice(begin, blocks));
            const size_t count = std::min(blocks.size() - skipped, out.size());
            std::memcpy(out.data(), blocks.data() + skipped, count);
            offset += count;
            out = out.subspan(count);
        }
        return {};
    }

private:
    std::shared_ptr<BlockBuffers> m_buffers;
};

} // namespace

BlockBuffers::Lease::Lease(BlockBuffers& pool)
    : m_pool(pool)
{
    {
        const std::lock_guard lock(pool.m_mutex);
        if (!pool.m_free.empty()) {
            m_data = std::move(pool.m_free.back());
            pool.m_free.pop_back();
            return;
        }
    }
    constexpr auto kAlignment = std::align_val_t(kDirectAlignment);
    m_data = {static_cast<uint8_t*>(::operator new(pool.m_bytes, kAlignment)),
        [](uint8_t* memory) { ::operator delete(memory, kAlignment); }};
}

BlockBuffers::Lease::~Lease()
{
    const std::lock_guard lock(m_pool.m_mutex);
    m_pool.m_free.push_back(std::move(m_data));
}

bool suitsDirectReading(const ReadFile& file)
{
    if (file.size() < kSmallFile)
        return false;
    const Descriptor own(retryInterrupted(
        [&] { return ::open(file.path().c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY); }));
    struct stat status {
    };
    // Network file systems have no device number of a disk. What they gain from reading ahead in the page
    // cache is not given up.
    if (!own.isOpen() || ::fstat(own.get(), &status) != 0 || identityOf(status) != file.identity()
        || major(status.st_dev) == 0)
        return false;
    const long page = ::sysconf(_SC_PAGESIZE);
    if (page <= 0)
        return false;
    const auto pageBytes = static_cast<uint64_t>(page);
    const uint64_t half = file.size() / pageBytes / 2;
    uint64_t cached = 0;
    for (uint64_t at = 0; at < file.size() && cached <= half; at += kWindow)
        cached += cachedPages(own.get(), at, std::min(kWindow, file.size() - at), pageBytes);
    return cached <= half && file.readsDirectly();
}

std::unique_ptr<ReadFile> readPastPageCache(
    std::unique_ptr<ReadFile> file, std::shared_ptr<BlockBuffers> buffers)
{
    return std::make_unique<UncachedFile>(std::move(file), std::move(buffers));
}

} // namespace shardscope::io
