// SPDX-License-Identifier: Apache-2.0
// The limit of processes of a user, as login nodes set it: the program as a process of a user who has no
// other.
#include "tests/hostile/hostile_fixture.h"
#include "tests/support/places.h"

#include <doctest/doctest.h>

#include <unistd.h>

using namespace shardscope::test;
namespace fs = std::filesystem;

namespace {

/// A command for a user who may have so many threads in all. Root is not limited, so it becomes a user whom
/// no other test uses.
Words limited(int threads, const Words& words)
{
    Words out{"/usr/bin/env", "timeout", "60"};
    if (::geteuid() == 0) {
        const std::string user = std::to_string(60000 + ::getpid() % 5000);
        out.insert(out.end(), {"setpriv", "--reuid=" + user, "--regid=" + user, "--clear-groups"});
    }
    out.insert(out.end(),
        {"bash", "-c", "ulimit -u " + std::to_string(threads) + "; exec \"$@\"", "bash",
            shardscope::programPath()});
    out.insert(out.end(), words.begin(), words.end());
    return out;
}

std::map<std::string, std::string> contentOf(const fs::path& folder)
{
    std::map<std::string, std::string> out;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
        if (entry.is_regular_file())
            out[fs::relative(entry.path(), folder).string()] = slurp(entry.path());
    }
    return out;
}

} // namespace

TEST_CASE("a limit of processes ends no command without a word")
{
    const TemporaryFolder folder;
    fs::permissions(folder.path(), fs::perms::all);
    const fs::path run = copySample("zero2-w2", folder);
    runVerb({"reshard", run, folder / "wanted", "-w", "3"}, 0);
    const auto wanted = contentOf(folder / "wanted");
    // Two: the shell has one process with one thread, and timeout another one.
    for (const int threads : {1, 2, 3, 4, 6}) {
        CAPTURE(threads);
        for (const char* const verb : {"check", "verify", "inspect"}) {
            const ProcessResult read = runProcess(limited(threads, {verb, run}));
            CAPTURE(read.err);
            CHECK(read.exitCode == 0);
        }
        const std::string out = folder / ("out" + std::to_string(threads));
        const ProcessResult written
            = runProcess(limited(threads, {"reshard", run, out, "-w", "3", "--jobs", "4"}));
        CAPTURE(written.err);
        CHECK((written.exitCode == 0 || written.exitCode == 5));
        if (written.exitCode == 5)
            CHECK(written.err.find("ulimit -u") != std::string::npos);
        if (written.exitCode == 5) { // again, by the same user
            const ProcessResult again = runProcess(limited(500, {"reshard", run, out, "-w", "3"}));
            CHECK_MESSAGE(again.exitCode == 0, again.err);
        }
        CHECK(contentOf(out) == wanted);
    }
}
