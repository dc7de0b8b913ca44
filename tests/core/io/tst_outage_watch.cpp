// SPDX-License-Identifier: Apache-2.0
#include "core/io/errno_error.h"
#include "core/io/file_system.h"
#include "core/io/outage_watch.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>

#include <cerrno>
#include <filesystem>

using namespace shardscope;
using shardscope::test::TemporaryFolder;

namespace {

/// Whether a failure with this errno is noticed.
bool isNoticed(int errnoValue, bool writing = false)
{
    const io::OutageWatch watch;
    (void)io::errorFromErrno(errnoValue, writing, "it failed", "a/file");
    return !watch.status();
}

} // namespace

TEST_CASE("what fails for a moment is an outage; what the path explains is none")
{
    for (const int moment :
        {EIO, ESTALE, EMFILE, ENFILE, ENOMEM, ETIMEDOUT, EINTR, EAGAIN, ENOTCONN, EREMOTEIO}) {
        CAPTURE(moment);
        CHECK(isNoticed(moment));
    }
    for (const int path : {ENOENT, ENOTDIR, EACCES, EPERM, EISDIR, ELOOP, ENAMETOOLONG}) {
        CAPTURE(path);
        CHECK(!isNoticed(path));
    }
    CHECK(!isNoticed(EIO, true)); // writing reports it itself
}

TEST_CASE("a conclusion gives way to the first outage")
{
    const io::OutageWatch watch;
    CHECK(watch.judged(Result<int>(1)).has_value());
    CHECK(watch.judged(Result<int>(fail(ErrorCode::Damaged, "torn"))).error().code == ErrorCode::Damaged);
    (void)io::errorFromErrno(EIO, false, "cannot read", "first");
    (void)io::errorFromErrno(ESTALE, false, "cannot read", "second");
    CHECK(watch.judged(Result<int>(1)).error().path == "first");
    const auto damaged = watch.judged(Result<int>(fail(ErrorCode::Damaged, "torn")));
    CHECK(damaged.error().code == ErrorCode::Unreadable);
    const auto stopped = watch.judged(Result<int>(fail(ErrorCode::Cancelled, "stopped")));
    CHECK(stopped.error().code == ErrorCode::Cancelled);
    const io::OutageWatch later;
    CHECK(later.status().has_value());
}

TEST_CASE("a file that cannot be looked at is not a changed one")
{
    const TemporaryFolder folder;
    test::spill(folder / "file", "bytes");
    const auto file = io::realFileSystem().openRead(folder / "file");
    REQUIRE(file.has_value());
    std::filesystem::remove(folder / "file");
    CHECK((*file)->checkUnchanged().error().code == ErrorCode::SourceChanged);
    std::filesystem::create_symlink("file", folder / "file"); // a loop
    CHECK((*file)->checkUnchanged().error().code == ErrorCode::Unreadable);
}

TEST_CASE("an outage of another host says nothing about what is elsewhere")
{
    const Error lost{ErrorCode::Unreadable, "the connection is lost", "node7", {}};
    const io::OutageWatch all;
    const io::OutageWatch local({"/runs/llama", "./node7:odd"});
    const io::OutageWatch other({"node70:/runs", "ada@node7:/runs"});
    const io::OutageWatch both({"/runs", "node7:/runs"});
    io::noteOutage(lost, "node7");
    CHECK_FALSE(all.status());
    CHECK(local.status());
    CHECK(other.status());
    CHECK_FALSE(both.status());
    (void)io::errorFromErrno(EIO, false, "cannot read", "a/file");
    CHECK_FALSE(local.status()); // of this machine
    CHECK_FALSE(other.status());
}
