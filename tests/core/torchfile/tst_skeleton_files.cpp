// SPDX-License-Identifier: Apache-2.0
#include "core/torchfile/skeleton/skeleton_files.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/torch_archive_builder.h"

#include <doctest/doctest.h>

using namespace shardscope;
using namespace shardscope::test;

namespace {

const std::string kPlainIndex = R"({"schema": "shardscope/skeleton/1", "version": "0", "kind": "zero2",
"tag": "t", "latest": "t", "open": "run", "redacted_keys": ["a"], "kept_keys": [], "later": {"x": [1, {}]}, "files": [
{"path": "run/t/a.pt", "bytes": 100, "mtime_ns": 7, "kept": [0, 4, 50, 2], "more": [[]]},
{"path": "run/t/b.pt", "bytes": 10, "mtime_ns": -7, "kept": [], "unreadable": {"code": "hostile", "message": "bad"}},
{"path": "run/latest", "bytes": 2, "mtime_ns": 0, "kept": [0, 2]}]})";

std::string archiveOf(const std::string& index)
{
    return buildForeignArchive({{"skeleton/shardscope.txt", "about"}, {"skeleton/kept/0", "HEADxy"},
        {"skeleton/kept/2", "t\n"}, {"skeleton/check.json", "{}"}, {"skeleton/skeleton.json", index}});
}

struct Fixture {
    explicit Fixture(const std::string& bytes = archiveOf(kPlainIndex)) { spill(folder / "s.zip", bytes); }

    TemporaryFolder folder;
    SkeletonFiles files{io::realFileSystem()};
};

ErrorCode codeOf(const std::string& index)
{
    Fixture fixture(archiveOf(index));
    const auto info = fixture.files.stat(fixture.folder / "s.zip/run");
    REQUIRE(!info);
    CHECK(!info.error().message.empty());
    return info.error().code;
}

/// The plain index with one part replaced.
std::string with(const std::string& from, const std::string& to)
{
    std::string out = kPlainIndex;
    const size_t at = out.find(from);
    REQUIRE(at != std::string::npos);
    return out.replace(at, from.size(), to);
}

} // namespace

TEST_CASE("a skeleton is a folder of files of their original sizes")
{
    Fixture fixture;
    const io::Path zip = fixture.folder / "s.zip";
    CHECK(fixture.files.isInSkeleton(zip));
    CHECK(fixture.files.isInSkeleton(zip / "run/t"));
    CHECK(!fixture.files.isInSkeleton(fixture.folder.path()));
    CHECK(fixture.files.stat(zip)->type == io::FileType::Directory);
    const auto listed = fixture.files.list(zip / "run");
    REQUIRE(listed);
    REQUIRE(listed->size() == 2);
    CHECK(listed->at(0).name == "latest");
    CHECK(listed->at(0).type == io::FileType::Regular);
    CHECK(listed->at(1).name == "t");
    CHECK(listed->at(1).type == io::FileType::Directory);
    const auto info = fixture.files.stat(zip / "run/t/a.pt");
    REQUIRE(info);
    CHECK(info->identity.bytes == 100);
    CHECK(info->identity.modifiedNs == 7);
    CHECK(fixture.files.stat(zip / "run/t/b.pt")->identity.modifiedNs == -7);
    CHECK(*fixture.files.readSmall(zip / "run/latest", 10) == "t\n");
    CHECK(fixture.files.canonical(zip)->filename() == "run");
    CHECK(fixture.files.canonical(zip / "run/t/../latest")->filename() == "latest");
    CHECK(fixture.files.stat(zip / "run/none").error().code == ErrorCode::NotFound);
    CHECK(fixture.files.list(zip / "run/latest").error().code == ErrorCode::Unreadable);
}

TEST_CASE("kept bytes read as before, and reading values reports that they were not kept")
{
    Fixture fixture;
    const auto file = fixture.files.openRead(fixture.folder / "s.zip/run/t/a.pt");
    REQUIRE(file);
    CHECK((*file)->size() == 100);
    std::string all(100, '?');
    REQUIRE((*file)->readAt(0, {reinterpret_cast<uint8_t*>(all.data()), all.size()}));
    CHECK(all == "HEAD" + std::string(46, '\0') + "xy" + std::string(48, '\0'));
    std::vector<uint8_t> part(10);
    const Status value = (*file)->readAt(10, part);
    REQUIRE(!value);
    CHECK(value.error().code == ErrorCode::Unsupported);
    CHECK(value.error().message == kNoValues);
    CHECK((*file)->readAt(95, part).error().code == ErrorCode::Damaged);
    CHECK((*file)->readAt(20, {}));
    CHECK((*file)->checkUnchanged());
    const auto unreadable = fixture.files.openRead(fixture.folder / "s.zip/run/t/b.pt");
    REQUIRE(!unreadable);
    CHECK(unreadable.error().code == ErrorCode::Hostile);
    CHECK(unreadable.error().message == "bad");
}

TEST_CASE("nothing is written into a skeleton, and the file itself can be replaced")
{
    Fixture fixture;
    const io::Path zip = fixture.folder / "s.zip";
    CHECK(fixture.files.create(zip / "run/new", 0644).error().code == ErrorCode::NoPermission);
    CHECK(fixture.files.removeFile(zip / "run/latest").error().code == ErrorCode::NoPermission);
    CHECK(fixture.files.rename(zip / "run/latest", fixture.folder / "x").error().code
        == ErrorCode::NoPermission);
    CHECK(fixture.files.makeDirectories(zip / "a/b").error().code == ErrorCode::NoPermission);
    spill(fixture.folder / "other", "other");
    REQUIRE(fixture.files.rename(fixture.folder / "other", zip));
    CHECK(!fixture.files.isInSkeleton(zip));
    CHECK(fixture.files.stat(zip)->type == io::FileType::Regular);
}

TEST_CASE("other zip files and folders do not open as skeletons")
{
    const TemporaryFolder folder;
    spill(folder / "a.zip", buildForeignArchive({{"x/y", "z"}}));
    spill(folder / "b.zip/file", "inside a folder");
    SkeletonFiles files(io::realFileSystem());
    CHECK(files.stat(folder / "a.zip")->type == io::FileType::Regular);
    CHECK(*files.readSmall(folder / "b.zip/file", 100) == "inside a folder");
    CHECK(files.create(folder / "b.zip/new", 0644));
}

TEST_CASE("a false index is refused with the reason")
{
    using enum ErrorCode;
    CHECK(codeOf("{") == Damaged);
    CHECK(codeOf("[]") == Damaged);
    CHECK(codeOf("{}") == Damaged);
    CHECK(codeOf(with("skeleton/1\"", "skeleton/2\"")) == Unsupported);
    CHECK(codeOf(with("skeleton/1\"", "check/1\"")) == Damaged);
    for (const char* path : {"../a.pt", "/etc/passwd", "run//a.pt", "run/./a", "run/a/..", "run/%00",
             "a/b/c/d/e/f/g/h/i/j/k/l/m/n/o/p/q"}) {
        CAPTURE(path);
        CHECK(codeOf(with("run/t/a.pt", path)) == Hostile);
    }
    CHECK(codeOf(with("run/t/a.pt", "")) == Damaged);
    CHECK(codeOf(with("run/t/a.pt", "run/%zz")) == Damaged);
    CHECK(codeOf(with("run/t/a.pt", "run/latest")) == Hostile);
    CHECK(codeOf(with("run/t/a.pt", "run/latest/a.pt")) == Hostile);
    for (const char* extents : {"[4, 4, 0, 2]", "[0, 4, 3, 2]", "[0, 4, 99, 2]", "[0, 0, 50, 6]", "[200, 6]",
             "[18446744073709551615, 2]", "[0, 18446744073709551615]", "[-1, 6]", "[0.5, 6]"}) {
        CAPTURE(extents);
        CHECK(codeOf(with("[0, 4, 50, 2]", extents)) == Hostile);
    }
    CHECK(codeOf(with("[0, 4, 50, 2]", "[0, 4, 50]")) == Damaged);
    CHECK(codeOf(with("[0, 4, 50, 2]", "[0, 4, \"50\", 2]")) == Damaged);
    CHECK(codeOf(with("[0, 4, 50, 2]", "[0, 4]")) == Damaged); // fewer than the record holds
    CHECK(codeOf(with("[0, 4, 50, 2]", "[0, 4, 50, 20]")) == Damaged);
    CHECK(codeOf(with("\"bytes\": 100", "\"bytes\": 9223372036854775807")) == Hostile);
    CHECK(codeOf(with("\"bytes\": 100", "\"bytes\": -1")) == Hostile);
    CHECK(codeOf(with("\"open\": \"run\"", "\"open\": \"../..\"")) == Hostile);
    CHECK(codeOf(with("\"open\": \"run\"", "\"open\": \"walk\"")) == Damaged);
    CHECK(codeOf(with("{\"x\": [1, {}]}", std::string(200, '[') + std::string(200, ']'))) == Hostile);
}

TEST_CASE("a torn skeleton says so, at every length")
{
    const std::string whole = archiveOf(kPlainIndex);
    for (size_t bytes = 110; bytes < whole.size(); bytes += 7) {
        CAPTURE(bytes);
        Fixture fixture(whole.substr(0, bytes));
        const auto info = fixture.files.stat(fixture.folder / "s.zip/run");
        REQUIRE(!info);
        CHECK((info.error().code == ErrorCode::Damaged || info.error().code == ErrorCode::Hostile));
        CHECK(!info.error().path.empty());
    }
}

TEST_CASE("a record that inflates beyond its declared size is stopped")
{
    ForeignRecord bomb{"skeleton/kept/0", {}};
    compress(bomb, std::string(1 << 20, 'a'), 6);
    const std::string bytes = buildForeignArchive({{"skeleton/shardscope.txt", "about"}, bomb,
        {"skeleton/kept/2", "t\n"}, {"skeleton/check.json", "{}"}, {"skeleton/skeleton.json", kPlainIndex}});
    Fixture fixture(bytes);
    const auto file = fixture.files.openRead(fixture.folder / "s.zip/run/t/a.pt");
    REQUIRE(!file);
    CHECK(file.error().code == ErrorCode::Hostile);
}
