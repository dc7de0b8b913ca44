// SPDX-License-Identifier: Apache-2.0
// A connection whose other end is a script: what is asked of it ends, whatever it does.
#include "core/base/build_info.h"
#include "core/far/far_files.h"
#include "core/far/far_host.h"
#include "core/io/outage_watch.h"
#include "core/serve/frame.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <thread>

using namespace shardscope;
using namespace shardscope::test;

namespace {

/// Answers as a server that says hello, and then does what `then` says.
class SilentHost
{
public:
    explicit SilentHost(const std::string& then)
    {
        const std::string hello = R"({"id":0,"reply":"hello","protocol":1,"version":")"
            + std::string(buildInfo().version) + "\"}";
        spill(m_folder / "hello", "shardscope-far ready\n" + serve::frameStart(hello, 0));
        spill(m_folder / "ssh", "#!/bin/sh\ncat '" + (m_folder / "hello").string() + "'\n" + then);
        std::filesystem::permissions(m_folder / "ssh", std::filesystem::perms::owner_all);
        ::setenv("SHARDSCOPE_SSH", (m_folder / "ssh").c_str(), 1);
    }
    ~SilentHost()
    {
        ::unsetenv("SHARDSCOPE_SSH");
        far::setFarSettings({});
    }

private:
    TemporaryFolder m_folder;
};

double secondsOf(const std::function<void()>& work)
{
    const auto began = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}

} // namespace

TEST_CASE("a host that falls silent is lost, which says nothing about its files")
{
    const SilentHost host("exec sleep 60\n");
    far::FarSettings settings;
    settings.silence = std::chrono::milliseconds(600);
    far::setFarSettings(settings);
    const io::OutageWatch watch;
    Result<io::FileInfo> found = fail(ErrorCode::Internal, "not asked");
    CHECK(secondsOf([&] { found = far::farAndOwnFiles().stat("silent:/x"); }) < 10);
    REQUIRE_FALSE(found.has_value());
    CHECK(found.error().code == ErrorCode::Unreadable);
    CHECK(found.error().message.find("lost") != std::string::npos);
    CHECK(found.error().path == "silent");
    CHECK_FALSE(watch.status().has_value());
    // It stays lost.
    CHECK(secondsOf([&] { found = far::farAndOwnFiles().stat("silent:/y"); }) < 0.5);
    CHECK(found.error().code == ErrorCode::Unreadable);
}

TEST_CASE("a stop ends every question, and is no outage")
{
    const SilentHost host("exec sleep 60\n");
    std::stop_source stop;
    far::FarSettings settings;
    settings.stop = stop.get_token();
    far::setFarSettings(settings);
    const io::OutageWatch watch;
    std::jthread later([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(500));
        stop.request_stop();
    });
    Result<io::FileInfo> found = fail(ErrorCode::Internal, "not asked");
    CHECK(secondsOf([&] { found = far::farAndOwnFiles().stat("stopped:/x"); }) < 10);
    REQUIRE_FALSE(found.has_value());
    CHECK(found.error().code == ErrorCode::Cancelled);
    CHECK(watch.status().has_value());
}

TEST_CASE("a host that cannot be reached is asked once")
{
    const SilentHost host("exit 1\n");
    CHECK(far::farAndOwnFiles().stat("gone:/x").error().code == ErrorCode::Unreadable);
    CHECK(far::farAndOwnFiles().list("gone:/x").error().code == ErrorCode::Unreadable);
    CHECK(far::farAndOwnFiles().create("gone:/x").error().code == ErrorCode::Unsupported);
    CHECK(far::farAndOwnFiles().rename("/x", "gone:/x").error().code == ErrorCode::Unsupported);
}
