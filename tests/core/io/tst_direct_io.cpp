// SPDX-License-Identifier: Apache-2.0
// Direct I/O: the same bytes with it, without it, and where it applies to a part only.
#include "core/io/file_system.h"
#include "tests/support/process.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>

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
        CHECK(result.out.find("1 passed") != std::string::npos);
    }
}
