// SPDX-License-Identifier: Apache-2.0
// A connection whose other end is a script: what is asked of it ends, whatever it does.
#include "core/base/build_info.h"
#include "core/base/current_stop.h"
#include "core/base/text.h"
#include "core/far/far_files.h"
#include "core/far/far_host.h"
#include "core/io/outage_watch.h"
#include "core/serve/frame.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <thread>
#include <vector>

#include <csignal>

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

/// Asks somebody for a password, who answers when there is a file of this name, and says hello then.
class AskingHost
{
public:
    explicit AskingHost(const std::string& prompt = "ada@$1's password:")
    {
        const std::string folder = m_folder.path().string();
        const std::string hello = R"({"id":0,"reply":"hello","protocol":1,"version":")"
            + std::string(buildInfo().version) + "\"}";
        spill(m_folder / "hello", "shardscope-far ready\n" + serve::frameStart(hello, 0));
        spill(m_folder / "ask",
            "#!/bin/sh\necho $$ > '" + folder + "/asking'\nwhile [ ! -e '" + folder
                + "/answer' ]; do sleep 0.05; done\n");
        spill(m_folder / "ssh",
            "#!/bin/sh\n\"$SSH_ASKPASS\" \"" + prompt + "\" || exit 255\ncat '" + folder
                + "/hello'\nexec sleep 60\n");
        for (const char* program : {"ask", "ssh"})
            std::filesystem::permissions(m_folder / program, std::filesystem::perms::owner_all);
        ::setenv("SHARDSCOPE_SSH", (m_folder / "ssh").c_str(), 1);
        ::setenv("SSH_ASKPASS", (m_folder / "ask").c_str(), 1);
    }
    ~AskingHost()
    {
        ::unsetenv("SHARDSCOPE_SSH");
        ::unsetenv("SSH_ASKPASS");
        far::setFarSettings({});
    }
    void answer() const { spill(m_folder / "answer", "x"); }
    /// The program that asks.
    [[nodiscard]] pid_t asking() const { return std::atoi(slurp(m_folder / "asking").c_str()); }

private:
    TemporaryFolder m_folder;
};

/// Waits for half a minute.
bool comesTrue(const std::function<bool()>& condition)
{
    for (int i = 0; i < 1500 && !condition(); ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return condition();
}

bool asks(const std::string& host)
{
    return far::farHost(host).condition().asks == "ssh asks: ada@" + host + "'s password:";
}

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

TEST_CASE("what ssh asks a person for is known, and a job that waits for it can be stopped alone")
{
    const AskingHost host;
    std::stop_source stop;
    Result<io::FileInfo> one = fail(ErrorCode::Internal, "not asked");
    Result<io::FileInfo> other = one;
    std::jthread first([&] {
        const StopScope scope(stop.get_token());
        one = far::farAndOwnFiles().stat("asking:/x");
    });
    REQUIRE(comesTrue([] { return asks("asking"); }));
    const pid_t program = host.asking();
    std::stop_source later;
    std::jthread second([&] {
        const StopScope scope(later.get_token());
        other = far::farAndOwnFiles().stat("asking:/y");
    });
    stop.request_stop();
    CHECK(secondsOf([&] { first.join(); }) < 10);
    CHECK((!one && one.error().code == ErrorCode::Cancelled));
    CHECK(comesTrue([&] { return ::kill(program, 0) != 0; })); // nobody waits for it
    // The other job asks again.
    CHECK(comesTrue([&] { return host.asking() != program && asks("asking"); }));
    later.request_stop();
    CHECK(secondsOf([&] { second.join(); }) < 10);
    CHECK((!other && other.error().code == ErrorCode::Cancelled));
    CHECK(far::farHost("asking").condition().state == far::FarCondition::State::Unused);
}

TEST_CASE("what a host has ssh ask cannot control a terminal, and is cut as text")
{
    std::string prompt = "no\xc2\x9b" // a control sequence in one character
                         "31m way\xe2\x80\xaex"; // from right to left
    for (int i = 0; i < 400; ++i)
        prompt += "\xc3\xa9";
    const AskingHost host(prompt);
    std::stop_source stop;
    std::jthread waiting([&] {
        const StopScope scope(stop.get_token());
        (void)far::farAndOwnFiles().stat("misled:/x");
    });
    std::string asked;
    CHECK(comesTrue([&] {
        asked = far::farHost("misled").condition().asks;
        return !asked.empty();
    }));
    stop.request_stop();
    CHECK(asked.starts_with("ssh asks: no 31m way x\xc3\xa9"));
    CHECK(isValidUtf8(asked));
    CHECK((asked.size() > 200 && asked.size() < 310));
}

TEST_CASE("a connection that waits for a person can be given up for all, and made again")
{
    const AskingHost host;
    far::FarSettings settings;
    settings.silence = std::chrono::milliseconds(600);
    far::setFarSettings(settings);
    std::vector<Result<io::FileInfo>> found(2, fail(ErrorCode::Internal, "not asked"));
    std::vector<std::jthread> waiting;
    for (auto& one : found)
        waiting.emplace_back([&] { one = far::farAndOwnFiles().stat("givenup:/x"); });
    REQUIRE(comesTrue([] { return asks("givenup"); }));
    far::farHost("givenup").stopConnecting();
    CHECK(secondsOf([&] { waiting.clear(); }) < 10);
    for (const auto& one : found)
        CHECK((!one && one.error().code == ErrorCode::Unreadable));
    CHECK(far::farHost("givenup").condition().state == far::FarCondition::State::Lost);
    far::farHost("givenup").connectAgain();
    host.answer();
    const auto again = far::farAndOwnFiles().stat("givenup:/x"); // it says no more than hello
    CHECK((!again && again.error().message.find("nothing arrives") != std::string::npos));
}
