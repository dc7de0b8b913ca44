// SPDX-License-Identifier: Apache-2.0
#include "tests/support/faulting_file_system.h"

#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>

#include <cerrno>

using namespace shardscope;
using shardscope::test::slurp;
using shardscope::test::TemporaryFolder;

namespace {

std::span<const uint8_t> bytesOf(std::string_view text)
{
    return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

Status writeOne(io::FileSystem& files, const io::Path& path)
{
    SHARDSCOPE_TRY(auto file, files.create(path));
    SHARDSCOPE_CHECK(file->allocate(4));
    SHARDSCOPE_CHECK(file->writeAt(0, bytesOf("abcd")));
    SHARDSCOPE_CHECK(file->sync());
    return file->close();
}

} // namespace

TEST_CASE("errno becomes the documented error code")
{
    const auto code
        = [](int errnoValue, bool writing) { return io::errorFromErrno(errnoValue, writing, "x", "p").code; };
    CHECK(code(ENOSPC, true) == ErrorCode::NoSpace);
    CHECK(code(EDQUOT, true) == ErrorCode::NoSpace);
    CHECK(code(EACCES, true) == ErrorCode::NoPermission);
    CHECK(code(EROFS, true) == ErrorCode::NoPermission);
    CHECK(code(EEXIST, true) == ErrorCode::TargetExists);
    CHECK(code(EIO, true) == ErrorCode::WriteFailed);
    CHECK(code(ENOENT, false) == ErrorCode::NotFound);
    CHECK(code(EACCES, false) == ErrorCode::Unreadable);
    CHECK(code(EIO, false) == ErrorCode::Unreadable);
    CHECK(io::errorFromErrno(ENOSPC, true, "x", "some/path").path == "some/path");
}

TEST_CASE("without a fault it only counts")
{
    const TemporaryFolder folder;
    io::FaultingFileSystem files(io::realFileSystem());
    REQUIRE(writeOne(files, folder / "file"));
    CHECK(files.callsSoFar() == 5);
    CHECK_FALSE(files.faultWasHit());
    CHECK(slurp(folder / "file") == "abcd");
}

TEST_CASE("exactly the chosen call fails, once or from then on")
{
    for (uint64_t call = 1; call <= 6; ++call) {
        const TemporaryFolder folder;
        io::FaultingFileSystem files(io::realFileSystem(), {.callNumber = call, .errnoValue = EACCES});
        const Status status = writeOne(files, folder / "file");
        CHECK(files.faultWasHit() == (call <= 5));
        REQUIRE(status.has_value() == (call > 5));
        if (!status) {
            CHECK(status.error().code == ErrorCode::NoPermission);
            CHECK(files.callsSoFar() == call);
            CHECK(files.stat(folder.path()).has_value());
        }
    }
    const TemporaryFolder folder;
    io::FaultingFileSystem files(io::realFileSystem(), {2, EIO, true, false});
    CHECK_FALSE(writeOne(files, folder / "file"));
    CHECK_FALSE(files.stat(folder.path()));
    CHECK_FALSE(files.openRead(folder / "file"));
}

TEST_CASE("a torn write leaves half")
{
    const TemporaryFolder folder;
    io::FaultingFileSystem files(io::realFileSystem(), {3, ENOSPC, false, true});
    const Status status = writeOne(files, folder / "file");
    REQUIRE_FALSE(status);
    CHECK(status.error().code == ErrorCode::NoSpace);
    CHECK(slurp(folder / "file") == std::string("ab\0\0", 4));

    io::FaultingFileSystem journal(io::realFileSystem(), {1, EIO, false, true});
    CHECK_FALSE(journal.appendSynced(folder / "journal", "line"));
    CHECK(slurp(folder / "journal") == "li");
}
