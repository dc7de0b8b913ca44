// SPDX-License-Identifier: Apache-2.0
// What was read of files on another host is not asked for again, and is never that of another version. The
// host is this machine behind a script in place of ssh.
#include "core/far/far_files.h"
#include "core/far/far_host.h"
#include "tests/cli/far/far_host_fixture.h"

#include <chrono>
#include <cstdlib>
#include <thread>

#include <fcntl.h>
#include <sys/stat.h>

using namespace shardscope;
using namespace shardscope::test;

namespace {

using Bytes = std::vector<uint8_t>;

constexpr size_t kSize = 300'000;

/// A file of a host, read by this process.
class FarReads
{
public:
    explicit FarReads(std::string host)
        : m_host(std::move(host))
    {
        script(m_folder / "ssh",
            "exec env -i HOME=/ PATH='" + m_folder.path().string() + ":/usr/bin:/bin' sh -c \"$2\"\n");
        fs::create_symlink(programPath(), m_folder / "shardscope");
        ::setenv("SHARDSCOPE_SSH", (m_folder / "ssh").c_str(), 1);
        write('a');
    }
    ~FarReads() { ::unsetenv("SHARDSCOPE_SSH"); }

    [[nodiscard]] fs::path here() const { return m_folder / "file"; }
    void write(char letter) const { spill(here(), std::string(kSize, letter)); }
    /// So that a change would be seen in its times.
    static void letTimePass() { std::this_thread::sleep_for(std::chrono::milliseconds(2100)); }
    [[nodiscard]] std::unique_ptr<io::ReadFile> open()
    {
        auto opened = m_files.openRead(far::farPath(m_host, here()));
        REQUIRE(opened.has_value());
        return std::move(*opened);
    }
    /// All of the file in ranges, alone and together.
    Status read(const io::ReadFile& file, char letter)
    {
        Bytes out(kSize);
        const auto all = std::span(out);
        std::vector<io::ReadRange> ranges{
            {&file, 0, all.first(1000)}, {&file, 200'000, all.subspan(200'000)}};
        for (const Status& status : m_files.readAll(ranges))
            SHARDSCOPE_CHECK(status);
        SHARDSCOPE_CHECK(file.readAt(1000, all.subspan(1000, 199'000)));
        CHECK(out == Bytes(kSize, static_cast<uint8_t>(letter)));
        return {};
    }
    uint64_t questions() { return far::farHost(m_host).traffic().questions; }
    io::FileSystem& files() { return m_files; }
    [[nodiscard]] const std::string& host() const { return m_host; }

private:
    TemporaryFolder m_folder;
    std::string m_host;
    far::FarFiles m_files{io::realFileSystem()};
};

} // namespace

TEST_CASE("what was read of a file on another host is not asked for again")
{
    FarReads host("kept");
    FarReads::letTimePass();
    CHECK(host.read(*host.open(), 'a'));
    const auto file = host.open();
    const uint64_t before = host.questions();
    CHECK(host.read(*file, 'a'));
    Bytes some(150'000);
    CHECK(file->readAt(100'000, some));
    CHECK(host.questions() == before);
    CHECK(file->readAt(kSize, std::span(some).first(1)).error().code == ErrorCode::Damaged);
    // Where the bytes of the disk are wanted, the host is asked.
    CHECK(file->readFromDevice(0, some));
    CHECK(host.questions() == before + 1);
    file->dropCache(0, kSize);
    CHECK(host.read(*file, 'a'));
    CHECK(host.questions() == before + 3);
}

TEST_CASE("a file of another host that was changed or replaced is read again")
{
    FarReads host("changed");
    FarReads::letTimePass();
    const auto old = host.open();
    Bytes some(1000);
    CHECK(old->readAt(0, some));
    struct stat before {
    };
    REQUIRE(::stat(host.here().c_str(), &before) == 0);
    host.write('b'); // in place
    CHECK(host.read(*host.open(), 'b'));
    // Whoever has the older version open gets its bytes or an error, the second time, too.
    CHECK(old->readAt(0, some));
    CHECK(some == Bytes(1000, 'a'));
    for (int times = 0; times < 2; ++times) {
        CHECK(host.read(*old, 'a').error().code == ErrorCode::SourceChanged);
        CHECK(old->readAt(1000, some).error().code == ErrorCode::SourceChanged);
    }
    CHECK(old->checkUnchanged().error().code == ErrorCode::SourceChanged);
    // The time of the change cannot be set back.
    host.write('c');
    const timespec times[2] = {before.st_atim, before.st_mtim};
    REQUIRE(::utimensat(AT_FDCWD, host.here().c_str(), times, 0) == 0);
    CHECK(host.open()->identity().modifiedNs == old->identity().modifiedNs);
    CHECK(host.read(*host.open(), 'c'));
    // Another file of the same size and time.
    spill(host.here().string() + ".new", std::string(kSize, 'd'));
    REQUIRE(::utimensat(AT_FDCWD, (host.here().string() + ".new").c_str(), times, 0) == 0);
    fs::rename(host.here().string() + ".new", host.here());
    CHECK(host.read(*host.open(), 'd'));
    fs::remove(host.here());
    CHECK_FALSE(host.files().openRead(far::farPath(host.host(), host.here())).has_value());
}

TEST_CASE("of a file that was changed just now nothing is kept")
{
    FarReads host("young");
    const timespec later{::time(nullptr) + 3600, 0}; // also by a clock that is ahead
    const timespec times[2] = {later, later};
    REQUIRE(::utimensat(AT_FDCWD, host.here().c_str(), times, 0) == 0);
    FarReads::letTimePass();
    const auto file = host.open();
    CHECK(host.read(*file, 'a'));
    const uint64_t before = host.questions();
    CHECK(host.read(*file, 'a'));
    CHECK(host.questions() == before + 2);
}
