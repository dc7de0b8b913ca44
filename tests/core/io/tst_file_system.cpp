// SPDX-License-Identifier: Apache-2.0
#include "core/io/file_system.h"

#include "core/io/forwarding_file_system.h"
#include "core/io/published_file.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <vector>

using namespace shardscope;
using shardscope::test::slurp;
using shardscope::test::spill;
using shardscope::test::TemporaryFolder;

namespace {

std::span<const uint8_t> bytesOf(std::string_view text)
{
    return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

template <class T>
ErrorCode codeOf(const Result<T>& result)
{
    REQUIRE_FALSE(result.has_value());
    CHECK_FALSE(result.error().message.empty());
    CHECK_FALSE(result.error().path.empty());
    return result.error().code;
}

} // namespace

TEST_CASE("a published file is durable: its folder is synced after it has its name")
{
    class Recorded final : public io::ForwardingFileSystem
    {
    public:
        Recorded()
            : io::ForwardingFileSystem(io::realFileSystem())
        {
        }
        Status rename(const io::Path& from, const io::Path& to) override
        {
            calls.push_back("rename " + to.filename().string());
            return io::ForwardingFileSystem::rename(from, to);
        }
        Status renameNoReplace(const io::Path& from, const io::Path& to) override
        {
            calls.push_back("rename " + to.filename().string());
            return io::ForwardingFileSystem::renameNoReplace(from, to);
        }
        Status syncDirectory(const io::Path& path) override
        {
            calls.push_back("sync " + path.filename().string());
            return io::ForwardingFileSystem::syncDirectory(path);
        }
        std::vector<std::string> calls;
    } files;
    const TemporaryFolder folder;
    for (const bool replace : {false, true}) {
        files.calls.clear();
        const auto file = io::createForPublishing(files, folder / "plan.json", replace);
        REQUIRE(file.has_value());
        REQUIRE(io::publishFile(
            files, **file, folder / "plan.json", replace, (*file)->writeAt(0, bytesOf("{}"))));
        CHECK(files.calls
            == std::vector<std::string>{"rename plan.json", "sync " + folder.path().filename().string()});
        CHECK(slurp(folder / "plan.json") == "{}");
    }
}

TEST_CASE("reading by position")
{
    const TemporaryFolder folder;
    spill(folder / "file", "0123456789");
    auto file = io::realFileSystem().openRead(folder / "file");
    REQUIRE(file);
    CHECK((*file)->size() == 10);
    std::vector<uint8_t> out(4);
    REQUIRE((*file)->readAt(3, out));
    CHECK(std::string(out.begin(), out.end()) == "3456");
    REQUIRE((*file)->readAt(10, {}));

    CHECK(codeOf((*file)->readAt(7, out)) == ErrorCode::Damaged);
    CHECK(codeOf((*file)->readAt(11, {})) == ErrorCode::Damaged);
    CHECK(codeOf((*file)->readAt(UINT64_MAX, out)) == ErrorCode::Damaged);

    REQUIRE((*file)->checkUnchanged());
    std::filesystem::resize_file(folder / "file", 5);
    CHECK(codeOf((*file)->readAt(3, out)) == ErrorCode::Damaged);
    CHECK(codeOf((*file)->checkUnchanged()) == ErrorCode::SourceChanged);
}

TEST_CASE("a replaced or removed file is noticed")
{
    const TemporaryFolder folder;
    spill(folder / "file", "same bytes");
    auto file = io::realFileSystem().openRead(folder / "file");
    REQUIRE(file);
    spill(folder / "other", "same bytes");
    std::filesystem::rename(folder / "other", folder / "file");
    CHECK(codeOf((*file)->checkUnchanged()) == ErrorCode::SourceChanged);
    std::filesystem::remove(folder / "file");
    CHECK(codeOf((*file)->checkUnchanged()) == ErrorCode::SourceChanged);
}

TEST_CASE("only regular files open, and nothing blocks")
{
    const TemporaryFolder folder;
    io::FileSystem& files = io::realFileSystem();
    REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
    CHECK(codeOf(files.openRead(folder / "pipe")) == ErrorCode::Unreadable);
    CHECK(codeOf(files.readSmall(folder / "pipe", 10)) == ErrorCode::Unreadable);
    CHECK(codeOf(files.openRead(folder.path())) == ErrorCode::Unreadable);
    CHECK(codeOf(files.openRead("/dev/zero")) == ErrorCode::Unreadable);
    CHECK(codeOf(files.openRead(folder / "absent")) == ErrorCode::NotFound);

    spill(folder / "file", "x");
    std::filesystem::create_symlink("file", folder / "link");
    CHECK(files.openRead(folder / "link").has_value());
    std::filesystem::create_symlink("loop", folder / "loop");
    CHECK(codeOf(files.openRead(folder / "loop")) == ErrorCode::Unreadable);
    CHECK(codeOf(files.canonical(folder / "loop")) == ErrorCode::Unreadable);
    CHECK(codeOf(files.openRead(folder / "file" / "below")) == ErrorCode::NotFound);
}

TEST_CASE("writing by position into a new file")
{
    const TemporaryFolder folder;
    io::FileSystem& files = io::realFileSystem();
    auto file = files.create(folder / "file", 0640);
    REQUIRE(file);
    REQUIRE((*file)->allocate(0));
    REQUIRE((*file)->allocate(6));
    REQUIRE((*file)->writeAt(3, bytesOf("def")));
    REQUIRE((*file)->writeAt(0, bytesOf("abc")));
    REQUIRE((*file)->startWriteBack(0, 3));
    REQUIRE((*file)->startWriteBack(3, 3));
    REQUIRE((*file)->sync());
    REQUIRE((*file)->close());
    CHECK(slurp(folder / "file") == "abcdef");

    CHECK(codeOf(files.create(folder / "file")) == ErrorCode::TargetExists);
    std::filesystem::create_symlink("absent", folder / "link");
    CHECK(codeOf(files.create(folder / "link")) == ErrorCode::TargetExists);
    CHECK_FALSE(std::filesystem::exists(folder / "absent"));
    CHECK(codeOf(files.create(folder / "no" / "folder")) == ErrorCode::WriteFailed);
}

TEST_CASE("a new file shares another one's bytes where the file system can, or stays empty")
{
    const TemporaryFolder folder;
    io::FileSystem& files = io::realFileSystem();
    spill(folder / "from", std::string(10'000, 'x'));
    const auto from = files.openRead(folder / "from");
    REQUIRE(from);
    const auto made = files.create(folder / "to");
    REQUIRE(made);
    const bool shared = (*made)->shareBytesOf(**from);
    CHECK(files.canShareBytes((*from)->path(), (*made)->path().parent_path()) == shared);
    CHECK_FALSE(files.canShareBytes((*from)->path(), (*made)->path().parent_path() / "absent"));
    REQUIRE((*made)->sync());
    MESSAGE("this file system ", shared ? "shares" : "does not share", " bytes of files");
    CHECK(slurp(folder / "to") == (shared ? std::string(10'000, 'x') : std::string()));
    REQUIRE((*made)->writeAt(0, bytesOf("new")));
    REQUIRE((*made)->close());
    CHECK(slurp(folder / "to").starts_with("new"));
    CHECK(slurp(folder / "from") == std::string(10'000, 'x'));

    // Not the file that was opened.
    std::filesystem::rename(folder / "from", folder / "old");
    spill(folder / "from", std::string(10'000, 'y'));
    const auto other = files.create(folder / "other");
    REQUIRE(other);
    CHECK_FALSE((*other)->shareBytesOf(**from));
    CHECK(std::filesystem::file_size(folder / "other") == 0);
}

TEST_CASE("appending, small files and their limit")
{
    const TemporaryFolder folder;
    io::FileSystem& files = io::realFileSystem();
    REQUIRE(files.appendSynced(folder / "journal", "one\n"));
    REQUIRE(files.appendSynced(folder / "journal", "two\n"));
    CHECK(files.readSmall(folder / "journal", 8).value_or("") == "one\ntwo\n");
    CHECK(codeOf(files.readSmall(folder / "journal", 7)) == ErrorCode::LimitExceeded);
    CHECK(codeOf(files.readSmall(folder / "none", 7)) == ErrorCode::NotFound);
}

TEST_CASE("folders: list, stat, make, remove")
{
    const TemporaryFolder folder;
    io::FileSystem& files = io::realFileSystem();
    REQUIRE(files.makeDirectories(folder / "b/c"));
    REQUIRE(files.makeDirectories(folder / "b/c"));
    CHECK(codeOf(files.makeDirectory(folder / "b")) == ErrorCode::TargetExists);
    spill(folder / "a", "1");
    std::filesystem::create_symlink("b", folder / "Z");
    REQUIRE(::mkfifo((folder / "p").c_str(), 0600) == 0);
    const auto entries = files.list(folder.path());
    REQUIRE(entries);
    REQUIRE(entries->size() == 4);
    CHECK((*entries)[0].name == "Z");
    CHECK((*entries)[0].type == io::FileType::Symlink);
    CHECK((*entries)[1].type == io::FileType::Regular);
    CHECK((*entries)[2].type == io::FileType::Directory);
    CHECK((*entries)[3].type == io::FileType::Other);
    CHECK(files.stat(folder / "Z").value_or(io::FileInfo{}).type == io::FileType::Directory);
    CHECK(codeOf(files.list(folder / "a")) == ErrorCode::NotFound);

    REQUIRE(files.setMode(folder / "a", 0751));
    CHECK(files.stat(folder / "a").value_or(io::FileInfo{}).mode == 0751);
    REQUIRE(files.removeTree(folder / "Z")); // the link, not what it points to
    CHECK(std::filesystem::exists(folder / "b/c"));
    REQUIRE(files.removeTree(folder / "b"));
    REQUIRE(files.removeTree(folder / "b"));
    CHECK_FALSE(std::filesystem::exists(folder / "b"));
    CHECK(codeOf(files.removeFile(folder / "absent")) == ErrorCode::WriteFailed);
    REQUIRE(files.syncDirectory(folder.path()));
    const auto space = files.space(folder.path());
    REQUIRE(space);
    CHECK(space->freeFiles > 0);
}

TEST_CASE("renaming without replacing, replacing and swapping")
{
    const TemporaryFolder folder;
    io::FileSystem& files = io::realFileSystem();
    spill(folder / "new/x", "new");
    spill(folder / "old/x", "old");
    CHECK(codeOf(files.renameNoReplace(folder / "new", folder / "old")) == ErrorCode::TargetExists);
    CHECK(slurp(folder / "old/x") == "old");
    std::filesystem::create_directory(folder / "empty");
    CHECK(codeOf(files.renameNoReplace(folder / "new", folder / "empty")) == ErrorCode::TargetExists);
    REQUIRE(files.exchange(folder / "new", folder / "old"));
    CHECK(slurp(folder / "old/x") == "new");
    CHECK(slurp(folder / "new/x") == "old");
    REQUIRE(files.renameNoReplace(folder / "new", folder / "moved"));
    CHECK(slurp(folder / "moved/x") == "old");

    spill(folder / "a", "a");
    spill(folder / "b", "b");
    REQUIRE(files.rename(folder / "a", folder / "b"));
    CHECK(slurp(folder / "b") == "a");
}

TEST_CASE("a lock excludes other processes and ends with its own")
{
    const TemporaryFolder folder;
    io::FileSystem& files = io::realFileSystem();
    {
        auto lock = files.lock(folder / "lock");
        REQUIRE(lock);
        CHECK(codeOf(files.lock(folder / "lock")) == ErrorCode::Busy);
    }
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        auto lock = files.lock(folder / "lock");
        ::_exit(lock ? 0 : 1); // without releasing it
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(status == 0);
    CHECK(files.lock(folder / "lock").has_value());
}
