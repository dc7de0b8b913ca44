// SPDX-License-Identifier: Apache-2.0
// Direct I/O: the same bytes with it, without it, and where it applies to a part only.
#include "core/io/file_system.h"
#include "core/io/forwarding_file_system.h"
#include "core/io/uncached_file.h"
#include "tests/support/process.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <new>
#include <random>
#include <vector>

using namespace shardscope;
using namespace shardscope::test;

namespace {

/// Memory that begins at a page.
class Pages
{
public:
    explicit Pages(size_t bytes)
        : m_bytes(bytes)
        , m_data(static_cast<uint8_t*>(::operator new(bytes, std::align_val_t(io::kDirectAlignment))))
    {
    }
    ~Pages() { ::operator delete(m_data, std::align_val_t(io::kDirectAlignment)); }
    Pages(const Pages&) = delete;
    Pages& operator=(const Pages&) = delete;

    [[nodiscard]] std::span<uint8_t> all() const { return {m_data, m_bytes}; }

private:
    size_t m_bytes;
    uint8_t* m_data;
};

/// Writes `bytes` in pieces of the given sizes, from aligned memory and from memory that is not.
void checkContent(const io::Path& path, size_t bytes, size_t piece, size_t skew)
{
    CAPTURE(bytes);
    CAPTURE(piece);
    CAPTURE(skew);
    std::mt19937_64 random(bytes + piece);
    std::vector<uint8_t> content(bytes);
    for (uint8_t& byte : content)
        byte = static_cast<uint8_t>(random());
    io::FileSystem& files = io::realFileSystem();
    {
        const auto file = files.create(path);
        REQUIRE(file);
        REQUIRE((*file)->allocate(bytes));
        const bool direct = (*file)->writeDirectly();
        CHECK((*file)->isDirect() == direct);
        const Pages memory(piece + skew);
        for (size_t at = 0; at < bytes; at += piece) {
            const auto part = memory.all().subspan(skew, std::min(piece, bytes - at));
            std::copy_n(content.begin() + static_cast<ptrdiff_t>(at), part.size(), part.begin());
            REQUIRE((*file)->writeAt(at, part));
        }
        REQUIRE((*file)->sync());
        REQUIRE((*file)->close());
    }
    const auto file = files.openRead(path);
    REQUIRE(file);
    CHECK((*file)->size() == bytes);
    const Pages memory(piece + skew);
    for (size_t at = 0; at < bytes; at += piece) {
        const auto part = memory.all().subspan(skew, std::min(piece, bytes - at));
        std::ranges::fill(part, uint8_t{0});
        REQUIRE((*file)->readFromDevice(at, part));
        CHECK(std::equal(part.begin(), part.end(), content.begin() + static_cast<ptrdiff_t>(at)));
    }
    const Status beyond = (*file)->readFromDevice(bytes, memory.all().first(1));
    REQUIRE_FALSE(beyond);
    CHECK(beyond.error().code == ErrorCode::Damaged);
    REQUIRE(files.removeFile(path));
}

/// Puts a file on its device and out of the page cache, as far as its file system can.
void makeCold(const io::Path& path)
{
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    REQUIRE(descriptor >= 0);
    CHECK(::fsync(descriptor) == 0);
    ::posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED);
    CHECK(::close(descriptor) == 0);
}

std::string randomText(size_t bytes)
{
    std::mt19937_64 random(bytes);
    std::string out(bytes, '\0');
    for (char& byte : out)
        byte = static_cast<char>(random());
    return out;
}

bool isOnDisk(const io::Path& path)
{
    struct stat status {
    };
    return ::stat(path.c_str(), &status) == 0 && major(status.st_dev) != 0;
}

} // namespace

TEST_CASE("bytes are the same with direct I/O, for every alignment, and on file systems without it")
{
    const TemporaryFolder folder;
    std::vector<io::Path> places{folder / "file"};
    const io::Path memory = "/dev/shm";
    const io::Path inMemory = memory / ("shardscope-direct-" + std::to_string(std::random_device()()));
    if (std::filesystem::is_directory(memory))
        places.push_back(inMemory);
    for (const io::Path& place : places) {
        for (const size_t bytes :
            {size_t{1}, size_t{4096}, size_t{4097}, size_t{1} << 20, size_t{3'000'001}}) {
            for (const size_t piece : {size_t{4096}, size_t{65536}, size_t{1} << 20, size_t{70'001}}) {
                checkContent(place, bytes, piece, 0);
                checkContent(place, bytes, piece, 512);
                checkContent(place, bytes, piece, 1);
            }
        }
    }
}

TEST_CASE("bytes are the same with direct I/O of a file that is not in the page cache")
{
    const TemporaryFolder onDisk;
    const TemporaryFolder inMemory(TemporaryFolder::Where::Memory);
    for (const TemporaryFolder* const folder : {&onDisk, &inMemory}) {
        for (const size_t bytes : {size_t{1}, size_t{131'072}, size_t{1} << 20, size_t{3'000'001}}) {
            CAPTURE(bytes);
            const io::Path path = *folder / std::to_string(bytes);
            const std::string content = randomText(bytes);
            spill(path, content);
            makeCold(path);
            auto opened = io::realFileSystem().openRead(path);
            REQUIRE(opened);
            const auto file
                = io::readPastPageCache(std::move(*opened), std::make_shared<io::BlockBuffers>(266'240));
            for (const size_t offset : {size_t{0}, size_t{1}, size_t{4096}, size_t{70'001}}) {
                for (const size_t count : {size_t{131'072}, size_t{266'240}, size_t{266'241}, bytes}) {
                    if (offset >= bytes)
                        continue;
                    std::vector<uint8_t> found(std::min(count, bytes - offset) + 1, 0xa5);
                    REQUIRE(file->readAt(offset, std::span(found).first(found.size() - 1)));
                    CHECK(std::equal(found.begin(), found.end() - 1,
                        content.begin() + static_cast<ptrdiff_t>(offset),
                        [](uint8_t a, char b) { return a == static_cast<uint8_t>(b); }));
                    CHECK(found.back() == 0xa5);
                }
            }
            std::vector<uint8_t> beyond(bytes);
            const Status past = file->readAt(1, beyond);
            REQUIRE_FALSE(past);
            CHECK(past.error().code == ErrorCode::Damaged);
        }
    }
}

TEST_CASE("an error of the device reaches the reader of a file that is not in the page cache")
{
    class Broken final : public io::ForwardingReadFile
    {
    public:
        using ForwardingReadFile::ForwardingReadFile;
        Status readFromDevice(uint64_t /*offset*/, std::span<uint8_t> /*out*/) const override
        {
            return fail(ErrorCode::Unreadable, "broken", path().string());
        }
    };
    const TemporaryFolder folder;
    const io::Path path = folder / "file";
    spill(path, randomText(size_t{1} << 20));
    auto opened = io::realFileSystem().openRead(path);
    REQUIRE(opened);
    const auto file = io::readPastPageCache(
        std::make_unique<Broken>(std::move(*opened)), std::make_shared<io::BlockBuffers>(266'240));
    std::vector<uint8_t> out(size_t{1} << 19);
    for (int again = 0; again < 2; ++again) { // the buffer returned to the pool
        const Status read = file->readAt(7, out);
        REQUIRE_FALSE(read);
        CHECK(read.error().code == ErrorCode::Unreadable);
        CHECK(read.error().path == path.string());
    }
    CHECK(file->readAt(7, std::span(out).first(100)));
}

TEST_CASE("direct reading suits large files on a disk that are not in the page cache")
{
    io::FileSystem& files = io::realFileSystem();
    const auto suits = [&](const io::Path& path) {
        const auto file = files.openRead(path);
        REQUIRE(file);
        return io::suitsDirectReading(**file);
    };
    const TemporaryFolder folder;
    const io::Path large = folder / "large";
    spill(large, randomText(size_t{4} << 20));
    CHECK_FALSE(suits(large)); // just written
    makeCold(large);
    const auto opened = files.openRead(large);
    REQUIRE(opened);
    const bool possible = isOnDisk(large) && (*opened)->readsDirectly();
    CHECK(suits(large) == possible);
    std::vector<uint8_t> bytes(size_t{3} << 20);
    REQUIRE((*opened)->readAt(0, bytes));
    CHECK_FALSE(suits(large));

    const io::Path small = folder / "small";
    spill(small, randomText(70'000));
    makeCold(small);
    CHECK_FALSE(suits(small));

    makeCold(large);
    std::filesystem::remove(large);
    spill(large, randomText(size_t{4} << 20));
    makeCold(large);
    CHECK_FALSE(io::suitsDirectReading(**opened)); // another file at its path

    const TemporaryFolder inMemory(TemporaryFolder::Where::Memory);
    const io::Path other = inMemory / "large";
    spill(other, randomText(size_t{4} << 20));
    if (!isOnDisk(other))
        CHECK_FALSE(suits(other));
}

TEST_CASE(
    "a file system that refuses direct I/O, at once or later, gets the same bytes through the page cache")
{
    const char* const preload = std::getenv("SHARDSCOPE_TEST_NO_DIRECT_IO");
    if (preload == nullptr) {
        MESSAGE("not tested: ctest sets SHARDSCOPE_TEST_NO_DIRECT_IO");
        return;
    }
    REQUIRE(std::filesystem::exists(preload));
    const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
    for (const std::string after : {"0", "1", "5", "100"}) {
        CAPTURE(after);
        ProcessOptions options;
        options.environment = {{"LD_PRELOAD", preload}, {"NO_DIRECT_IO_AFTER", after},
            {"ASAN_OPTIONS", "verify_asan_link_order=0"}};
        const ProcessResult result
            = runProcess({self, "--test-case=bytes are the same with direct I/O*"}, options);
        CAPTURE(result.out);
        CHECK(result.exitCode == 0);
        CHECK(result.out.find("2 passed") != std::string::npos);
    }
}
