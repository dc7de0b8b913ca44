// SPDX-License-Identifier: Apache-2.0
// Which paths are on another host, and how they are typed.
#include "core/far/far_path.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>

#include <filesystem>

using namespace shardscope;
using namespace shardscope::test;

TEST_CASE("far paths have a host in front of an absolute path")
{
    struct Row {
        const char* text;
        const char* host;
        const char* path;
    };
    for (const Row& row :
        {Row{"node7:/runs/llama", "node7", "/runs/llama"}, Row{"ada@node7:/r", "ada@node7", "/r"},
            Row{"a_b.c-d:/", "a_b.c-d", "/"}, Row{"node7:~", "node7", "~"},
            Row{"node7:~/runs", "node7", "~/runs"}, Row{"ada@[2001:db8::7]:/r", "ada@[2001:db8::7]", "/r"},
            Row{"[::1]:/r:x", "[::1]", "/r:x"}, Row{"h:/a:b/c", "h", "/a:b/c"}}) {
        CAPTURE(row.text);
        const auto found = far::farPathOf(row.text);
        REQUIRE(found.has_value());
        CHECK(found->host == row.host);
        CHECK(found->path == row.path);
        CHECK(far::farPath(found->host, found->path) == row.text);
    }
}

TEST_CASE("paths of this machine stay what they are")
{
    for (const char* text : {"", "/", "/a:/b", "./a:/b", "a", "a/b:/c", "runs/x", "a:b", "a:~b",
             "2026-11-30T10:00/x", ":/x", "@h:/x", "a b:/x", "-oProxyCommand=x:/y", "ada@-h:/x", "-h:/x",
             "h\n:/x", "ho$t:/x", "h:", "[x]:/y", "a@b@c:/x", "s3://bucket/k", "file:///x", "h:~ada/x"}) {
        CAPTURE(text);
        CHECK_FALSE(far::isFar(text));
    }
}

TEST_CASE("a drive of Windows is taken for a host, and says so")
{
    CHECK(far::driveHint("C").find("/mnt/c") != std::string::npos);
    for (const char* host : {"", "7", "cc", "ada@c", "node7"})
        CHECK(far::driveHint(host).empty());
}

TEST_CASE("parents and children of a far path are far")
{
    const io::Path path = "node7:/runs/llama";
    CHECK((path / "global_step2/latest").string() == "node7:/runs/llama/global_step2/latest");
    CHECK(far::isFar(path.parent_path()));
    CHECK(path.lexically_normal() == path);
    CHECK(io::Path("node7:/runs/../x/./y").lexically_normal() == "node7:/x/y");
}

TEST_CASE("what is typed without a slash is below the home folder there, unless it is here")
{
    const TemporaryFolder folder;
    std::filesystem::create_directory(folder / "host:runs");
    CHECK(far::typedPath("host:runs/llama") == "host:~/runs/llama");
    CHECK(far::typedPath("host:") == "host:~");
    CHECK(far::typedPath("host:/runs") == "host:/runs");
    CHECK(far::typedPath("host:~/runs") == "host:~/runs");
    CHECK(far::typedPath("./host:runs") == "./host:runs");
    CHECK(far::typedPath("runs/a:b") == "runs/a:b");
    CHECK(far::typedPath("s3://bucket/k") == "s3://bucket/k");
    CHECK(far::typedPath("host:~ada/x") == "host:~ada/x");
    CHECK(far::typedPath("no host:runs") == "no host:runs");
    const auto here = std::filesystem::current_path();
    std::filesystem::current_path(folder.path());
    const std::string typed = far::typedPath("host:runs");
    std::filesystem::current_path(here);
    CHECK(typed == "host:runs");
}

TEST_CASE("a command for another host is quoted for both shells")
{
    CHECK(far::sshCommand("ada@[::1]", "ls '/a b'") == R"(ssh ada@::1 'ls '\''/a b'\''')");
}
