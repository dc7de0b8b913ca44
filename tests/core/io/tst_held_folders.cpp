// SPDX-License-Identifier: Apache-2.0
// Held folders: whatever others plant below one, calls neither follow a link nor block, with the kernel's
// openat2() and without it.
#include "core/io/folder_hold.h"

#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

using namespace shardscope;
using shardscope::test::slurp;
using shardscope::test::spill;
using shardscope::test::TemporaryFolder;
namespace fs = std::filesystem;

namespace {

constexpr uid_t kNobody = 65534;

/// From now on openat2() fails in this process, as in a sandbox or on an older kernel.
void refuseOpenat2(int errnoValue)
{
    std::array<sock_filter, 4> filter{{
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<uint32_t>(errnoValue)),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    }};
    sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0
        || ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        ::_exit(99);
}

/// What went wrong in `work`, which runs in a child of this process; `errnoValue` as in refuseOpenat2(), 0:
/// openat2() works where the kernel has it.
std::string inChild(int errnoValue, const std::function<std::string()>& work)
{
    std::array<int, 2> ends{};
    REQUIRE(::pipe(ends.data()) == 0);
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        if (errnoValue != 0)
            refuseOpenat2(errnoValue);
        const std::string said = work();
        const ssize_t written = ::write(ends[1], said.data(), said.size());
        ::_exit(written == static_cast<ssize_t>(said.size()) ? 0 : 98);
    }
    ::close(ends[1]);
    std::string out;
    std::array<char, 4096> buffer{};
    for (ssize_t count = 0; (count = ::read(ends[0], buffer.data(), buffer.size())) > 0;)
        out.append(buffer.data(), static_cast<size_t>(count));
    ::close(ends[0]);
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? out : out + "; the child ended with an error";
}

const std::array kWays{0, ENOSYS, EPERM};

/// A call on a path below an own folder.
struct Call {
    const char* name;
    std::function<Status(io::FileSystem&, const io::Path&)> run;
};

template <class T>
Status statusOf(Result<T> result)
{
    return result ? Status() : Status(forward(result.error()));
}

const std::vector<Call>& writingCalls()
{
    static const std::vector<Call> kCalls{
        {"create", [](auto& files, const auto& path) { return statusOf(files.create(path / "new")); }},
        {"openShared",
            [](auto& files, const auto& path) { return statusOf(files.openShared(path / "new")); }},
        {"append", [](auto& files, const auto& path) { return files.appendSynced(path / "new", "x"); }},
        {"lock", [](auto& files, const auto& path) { return statusOf(files.lock(path / "new")); }},
        {"makeDirectory", [](auto& files, const auto& path) { return files.makeDirectory(path / "new"); }},
        {"makeDirectories",
            [](auto& files, const auto& path) { return files.makeDirectories(path / "new/deep"); }},
        {"removeFile", [](auto& files, const auto& path) { return files.removeFile(path / "precious"); }},
        {"removeTree", [](auto& files, const auto& path) { return files.removeTree(path / "sub"); }},
        {"rename",
            [](auto& files, const auto& path) { return files.rename(path / "precious", path / "moved"); }},
        {"renameNoReplace",
            [](auto& files, const auto& path) {
                return files.renameNoReplace(path / "precious", path / "moved");
            }},
        {"exchange",
            [](auto& files, const auto& path) { return files.exchange(path / "precious", path / "sub"); }},
        {"setMode", [](auto& files, const auto& path) { return files.setMode(path / "precious", 0600); }},
        {"syncDirectory", [](auto& files, const auto& path) { return files.syncDirectory(path / "sub"); }},
    };
    return kCalls;
}

const std::vector<Call>& readingCalls()
{
    static const std::vector<Call> kCalls{
        {"openRead",
            [](auto& files, const auto& path) { return statusOf(files.openRead(path / "precious")); }},
        {"readSmall",
            [](auto& files, const auto& path) { return statusOf(files.readSmall(path / "precious", 100)); }},
        {"stat", [](auto& files, const auto& path) { return statusOf(files.stat(path / "precious")); }},
        {"list", [](auto& files, const auto& path) { return statusOf(files.list(path)); }},
        {"list below", [](auto& files, const auto& path) { return statusOf(files.list(path / "sub")); }},
    };
    return kCalls;
}

std::map<std::string, std::string> traceOf(const fs::path& folder)
{
    std::map<std::string, std::string> out;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
        struct stat status {
        };
        ::lstat(entry.path().c_str(), &status);
        out[entry.path()] = std::to_string(status.st_ino) + " " + std::to_string(status.st_mode) + " "
            + std::to_string(status.st_mtim.tv_nsec)
            + (entry.is_regular_file() ? slurp(entry.path()) : std::string());
    }
    return out;
}

void makeVictim(const fs::path& folder)
{
    spill(folder / "precious", "mine");
    spill(folder / "sub/deep", "mine, too");
}

/// Every call on `path`, which leads to the victim by a link: the names of those that did not refuse.
std::string callsThatFollow(const std::vector<Call>& calls, const fs::path& path)
{
    std::string out;
    for (const Call& call : calls) {
        const Status status = call.run(io::realFileSystem(), path);
        if (status || status.error().code != ErrorCode::NoPermission)
            out += std::string(call.name) + ": " + (status ? "done" : describe(status.error())) + "\n";
    }
    return out;
}

} // namespace

TEST_CASE("no call below an own folder goes through a link, in any place of the path")
{
    for (const int way : kWays) {
        CAPTURE(way);
        const TemporaryFolder folder;
        makeVictim(folder / "victim");
        fs::create_directories(folder / "own/a");
        fs::create_directory_symlink(folder / "victim", folder / "own/link");
        fs::create_directory_symlink("../../victim", folder / "own/a/link");
        fs::create_directory_symlink("..", folder / "own/up");
        const auto before = traceOf(folder / "victim");
        const std::string said = inChild(way, [&] {
            const auto hold = io::holdFolder(folder / "own", io::HoldKind::Own);
            if (!hold)
                return describe(hold.error());
            std::string out;
            for (const char* const path : {"own/link", "own/a/link", "own/up/victim", "own/a/../link"}) {
                out += callsThatFollow(writingCalls(), folder / path);
                out += callsThatFollow(readingCalls(), folder / path);
            }
            return out;
        });
        CHECK(said == "");
        CHECK(traceOf(folder / "victim") == before);
    }
}

TEST_CASE("below a named folder only calls that change something refuse links")
{
    for (const int way : kWays) {
        CAPTURE(way);
        const TemporaryFolder folder;
        makeVictim(folder / "victim");
        fs::create_directories(folder / "real");
        fs::create_directory_symlink("real", folder / "named"); // the user's own link
        fs::create_directory_symlink(folder / "victim", folder / "real/link");
        const auto before = traceOf(folder / "victim");
        const std::string said = inChild(way, [&]() -> std::string {
            io::FileSystem& files = io::realFileSystem();
            const auto hold = io::holdFolder(folder / "named", io::HoldKind::Named);
            if (!hold)
                return describe(hold.error());
            std::string out = callsThatFollow(writingCalls(), folder / "named/link");
            out += callsThatFollow(writingCalls(), folder / "real/link"); // by its other name
            for (const Call& call : readingCalls()) {
                if (!call.run(files, folder / "named/link"))
                    out += std::string(call.name) + " refused\n";
            }
            if (!files.makeDirectories(folder / "named/x/y") || !files.removeTree(folder / "named/x"))
                out += "cannot make and remove folders\n";
            return out;
        });
        CHECK(said == "");
        CHECK(traceOf(folder / "victim") == before);
        CHECK_FALSE(fs::exists(folder / "real/x"));
    }
}

TEST_CASE("a held folder is reached by its handle, whatever has its name")
{
    for (const int way : kWays) {
        CAPTURE(way);
        const TemporaryFolder folder;
        makeVictim(folder / "victim");
        spill(folder / "own/file", "own");
        fs::create_directories(folder / "own/lease");
        const auto before = traceOf(folder / "victim");
        const std::string said = inChild(way, [&]() -> std::string {
            io::FileSystem& files = io::realFileSystem();
            const auto hold = io::holdFolder(folder / "own", io::HoldKind::Own);
            if (!hold)
                return describe(hold.error());
            fs::rename(folder / "own", folder / "elsewhere");
            fs::create_directory_symlink(folder / "victim", folder / "own");
            if (files.readSmall(folder / "own/file", 10).value_or("") != "own")
                return "read by name";
            if (!files.appendSynced(folder / "own/lease/1", "x") || !fs::exists(folder / "elsewhere/lease/1"))
                return "written by name";
            if (!files.removeTree(folder / "own") || !fs::is_empty(folder / "elsewhere"))
                return "not removed by its handle";
            return {};
        });
        CHECK(said == "");
        CHECK(traceOf(folder / "victim") == before);
        CHECK(fs::is_symlink(folder / "own"));
    }
}

TEST_CASE("a folder that is renamed keeps its hold")
{
    const TemporaryFolder folder;
    io::FileSystem& files = io::realFileSystem();
    spill(folder / "own/file", "own");
    const auto hold = io::holdFolder(folder / "own", io::HoldKind::Own);
    REQUIRE(hold);
    REQUIRE(files.renameNoReplace(folder / "own", folder / "aside"));
    makeVictim(folder / "own");
    fs::create_symlink("file", folder / "aside/link");
    CHECK(files.openRead(folder / "own/precious"));
    CHECK_FALSE(files.openRead(folder / "aside/link"));
    REQUIRE(files.removeTree(folder / "aside"));
    CHECK_FALSE(fs::exists(folder / "aside"));
    CHECK(slurp(folder / "own/precious") == "mine");
}

TEST_CASE("folders that are exchanged keep their holds")
{
    const TemporaryFolder folder;
    io::FileSystem& files = io::realFileSystem();
    spill(folder / "own/file", "own");
    spill(folder / "other/file", "other");
    const auto hold = io::holdFolder(folder / "own", io::HoldKind::Own);
    REQUIRE(hold);
    REQUIRE(files.exchange(folder / "other", folder / "own"));
    fs::create_symlink("file", folder / "own/link");
    fs::create_symlink("file", folder / "other/link");
    CHECK(files.openRead(folder / "own/link"));
    CHECK_FALSE(files.openRead(folder / "other/link"));
    CHECK(files.readSmall(folder / "other/file", 100) == std::string("own"));
}

TEST_CASE("what is opened to be written is a regular file with one name, and nothing blocks")
{
    const TemporaryFolder folder;
    io::FileSystem& files = io::realFileSystem();
    makeVictim(folder / "victim");
    fs::create_directories(folder / "own");
    const auto hold = io::holdFolder(folder / "own", io::HoldKind::Own);
    REQUIRE(hold);
    REQUIRE(::mkfifo((folder / "own/fifo").c_str(), 0600) == 0);
    fs::create_hard_link(folder / "victim/precious", folder / "own/hard");
    fs::create_symlink(folder / "victim/precious", folder / "own/soft");
    fs::create_symlink(folder / "victim/absent", folder / "own/dangling");
    const auto before = traceOf(folder / "victim");
    for (const char* const name : {"fifo", "hard", "soft", "dangling"}) {
        CAPTURE(std::string(name));
        const io::Path path = folder / "own" / name;
        CHECK_FALSE(files.openShared(path));
        CHECK_FALSE(files.appendSynced(path, "x"));
        const auto lock = files.lock(path);
        REQUIRE_FALSE(lock);
        CHECK(exitCode(lock.error().code) == 5);
        CHECK_FALSE(files.create(path));
        if (name != std::string("hard")) {
            const auto text = files.readSmall(path, 100);
            REQUIRE_FALSE(text);
            CHECK(text.error().code == ErrorCode::NoPermission);
        }
    }
    CHECK(files.stat(folder / "own/soft").value_or(io::FileInfo{}).type == io::FileType::Symlink);
    CHECK(traceOf(folder / "victim") == before);
    CHECK_FALSE(fs::exists(folder / "victim/absent"));
}

TEST_CASE("an own folder is no link, no file, and not one of another user")
{
    const TemporaryFolder folder;
    makeVictim(folder / "victim");
    fs::create_directory_symlink("victim", folder / "link");
    const auto refusal = [&](const std::string& name) {
        const auto hold = io::holdFolder(folder / name, io::HoldKind::Own);
        REQUIRE_FALSE(hold);
        CHECK(hold.error().code == ErrorCode::NoPermission);
        CHECK_FALSE(hold.error().hint.text.empty());
        return hold.error().message;
    };
    CHECK(refusal("link").find("a symbolic link of user " + std::to_string(::getuid())) != std::string::npos);
    CHECK(refusal("victim/precious").find("a file") != std::string::npos);
    const auto absent = io::holdFolder(folder / "absent", io::HoldKind::Own);
    REQUIRE_FALSE(absent);
    CHECK(exitCode(absent.error().code) == 5);
    if (::geteuid() != 0) {
        MESSAGE("not root: folders of another user were not tried");
        CHECK(std::getenv("CI") == nullptr);
        return;
    }
    REQUIRE(::chown((folder / "victim").c_str(), kNobody, kNobody) == 0);
    const auto before = traceOf(folder.path());
    CHECK(refusal("victim").find("of user 65534") != std::string::npos);
    CHECK(traceOf(folder.path()) == before);
    // A group shares its folders where the umask says so.
    fs::create_directories(folder / "shared");
    REQUIRE(::chown((folder / "shared").c_str(), kNobody, ::getegid()) == 0);
    fs::permissions(folder / "shared", fs::perms(0775));
    const mode_t usual = ::umask(0022);
    CHECK_FALSE(io::holdFolder(folder / "shared", io::HoldKind::Own));
    ::umask(0002);
    CHECK(io::holdFolder(folder / "shared", io::HoldKind::Own));
    fs::permissions(folder / "shared", fs::perms(0777));
    CHECK_FALSE(io::holdFolder(folder / "shared", io::HoldKind::Own));
    ::umask(usual);
}

TEST_CASE("trees are removed to any depth, links and FIFOs in them as such")
{
    const TemporaryFolder folder;
    io::FileSystem& files = io::realFileSystem();
    makeVictim(folder / "victim");
    const auto before = traceOf(folder / "victim");
    fs::path deep = folder / "tree";
    for (int i = 0; i < 200; ++i)
        deep /= "d";
    fs::create_directories(deep);
    spill(deep / "file", "x");
    fs::create_directory_symlink(folder / "victim", deep / "link");
    fs::create_directory_symlink(folder / "victim", folder / "tree/link");
    REQUIRE(::mkfifo((folder / "tree/fifo").c_str(), 0600) == 0);
    REQUIRE(files.removeTree(folder / "tree"));
    CHECK_FALSE(fs::exists(folder / "tree"));
    fs::create_directory_symlink(folder / "victim", folder / "link");
    REQUIRE(files.removeTree(folder / "link/")); // the link, also with a slash at the end
    CHECK_FALSE(fs::exists(fs::symlink_status(folder / "link")));
    CHECK(traceOf(folder / "victim") == before);
}
