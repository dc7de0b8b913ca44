// SPDX-License-Identifier: Apache-2.0
// --log-file accepts only regular files; no other file may block the program.
#include "tests/cli/cli_fixture.h"
#include "tests/support/places.h"

#include <doctest/doctest.h>

#include <sys/stat.h>

using namespace shardscope;
using namespace shardscope::test;
namespace fs = std::filesystem;

TEST_CASE("a log file that is not a regular file is refused at once")
{
    const TemporaryFolder folder;
    const fs::path fifo = folder / "fifo";
    REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
    fs::create_symlink(fifo, folder / "link-to-fifo");
    fs::create_directory(folder / "folder");
    for (const fs::path& path :
        {fifo, folder / "link-to-fifo", folder / "folder", fs::path("/dev/full"), fs::path("/dev/null")}) {
        CAPTURE(path);
        // `timeout` ends a program that waits for a reader of the FIFO with exit code 124.
        const ProcessResult result = runProcess(
            {"/usr/bin/timeout", "10", programPath(), "inspect", samplePath("zero2-w2"), "--log-file", path});
        CHECK(result.exitCode == 5);
        CHECK(result.err.find("not a regular file") != std::string::npos);
        CHECK(result.out.empty());
    }
}

TEST_CASE("the log is appended to a regular file, also through a link")
{
    const TemporaryFolder folder;
    spill(folder / "log", "before\n");
    fs::create_symlink(folder / "log", folder / "link");
    const ProcessResult result = runShardscope({"reshard", samplePath("zero2-w2"), folder / "out", "-w", "2",
        "--dry-run", "--log-file", folder / "link"});
    CHECK(result.exitCode == 0);
    const std::string log = slurp(folder / "log");
    CHECK(log.starts_with("before\n"));
    CHECK(log.find("planning for world size 2") != std::string::npos);
    CHECK(fs::is_symlink(folder / "link"));
}
