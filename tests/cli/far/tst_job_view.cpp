// SPDX-License-Identifier: Apache-2.0
// The view of a job of this machine, whose files the test writes in place of the job.
#include "tests/cli/cli_fixture.h"
#include "tests/support/places.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

using namespace shardscope;
using namespace shardscope::test;
using Json = nlohmann::json;
namespace fs = std::filesystem;

TEST_CASE("a view shows whole lines, and begins again with a job that is started again")
{
    const TemporaryFolder home;
    const fs::path job = home / ".cache/shardscope/jobs/0000000a";
    fs::create_directories(job);
    std::string machine(256, '\0');
    REQUIRE(::gethostname(machine.data(), machine.size() - 1) == 0);
    const auto start = [&](int time) {
        spill(job / "new",
            Json{{"id", "0000000a"}, {"words", Json::array()}, {"json", false}, {"host", ""},
                {"machine", machine.c_str()}, {"started", time}, {"process", 0}, {"process_start", 0}}
                .dump());
        fs::rename(job / "new", job / "job.json");
    };
    const auto write
        = [&](const std::string& text) { std::ofstream(job / "messages", std::ios::app) << text; };
    const int lock = ::open((job / "lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    REQUIRE(::flock(lock, LOCK_EX) == 0);
    start(1);
    write("whole\nhal");
    Process view({programPath(), "jobs", "--attach", "0000000a"},
        {.environment = {{"HOME", home.path().string()}, {"XDG_CACHE_HOME", ""}}});
    REQUIRE(view.waitForError("whole\n"));
    ::usleep(500'000);
    write("f\n");
    REQUIRE(view.waitForError("half\n"));
    fs::remove(job / "messages");
    write("again\n");
    start(2);
    REQUIRE(view.waitForError("again\n"));
    write("last");
    spill(job / "end.json", R"({"exit":0,"ended":1})");
    ::close(lock);
    const ProcessResult shown = view.wait();
    CHECK(shown.exitCode == 0);
    CHECK(shown.err == "whole\nhalf\nagain\nlast\n");
}
