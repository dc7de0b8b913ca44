// SPDX-License-Identifier: Apache-2.0
// What a folder can be instead of a checkpoint, and what its entries can be instead of files.
#include "tests/hostile/hostile_fixture.h"

#include <doctest/doctest.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace shardscope;
using namespace shardscope::test;
namespace fs = std::filesystem;

namespace {

const std::string kOptim1 = "global_step6/bf16_zero_pp_rank_1_mp_rank_00_optim_states.pt";
const std::string kModel = "global_step6/mp_rank_00_model_states.pt";

/// One way to damage a copy of zero2-w2, and the expected result.
struct Case {
    const char* name;
    void (*damage)(const fs::path& run);
    Row row;
    const char* word;
};

void sparseFile(const fs::path& path, off_t bytes)
{
    fs::remove(path);
    const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
    REQUIRE(file >= 0);
    CHECK(::ftruncate(file, bytes) == 0);
    ::close(file);
}

void makeFifo(const fs::path& path)
{
    fs::remove(path);
    REQUIRE(::mkfifo(path.c_str(), 0644) == 0);
}

void runCases(std::initializer_list<Case> cases)
{
    for (const Case& one : cases) {
        CAPTURE(std::string(one.name));
        const TemporaryFolder folder;
        const fs::path run = copySample("zero2-w2", folder);
        one.damage(run);
        checkRow(run, one.row, one.word, folder);
    }
}

} // namespace

TEST_CASE("folders and files that are not checkpoints")
{
    const TemporaryFolder folder;
    fs::create_directory(folder / "empty");
    checkRow(folder / "empty", kNothingHere, "empty", folder);
    checkRow(folder / "absent", kNothingHere, "No such file", folder);
    spill(folder / "foreign/notes.txt", "hello");
    checkRow(folder / "foreign", kNothingHere, "DeepSpeed", folder);
    spill(folder / "emptyfile/weights.pt", "");
    checkRow(folder / "emptyfile/weights.pt", kNothingHere, "empty", folder);
    spill(folder / "html/weights.pt", "<!DOCTYPE html><html><body>404 Not Found</body></html>");
    checkRow(folder / "html/weights.pt", kNothingHere, "web page", folder);
    spill(
        folder / "lfs/weights.pt", "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 12345\n");
    checkRow(folder / "lfs/weights.pt", kNothingHere, "LFS", folder);
    checkRow("/dev/null", kNothingHere, "regular file", folder);
}

TEST_CASE("latest names no tag")
{
    runCases({
        {"missing", [](const fs::path& run) { fs::remove(run / "latest"); }, kNoTag, "latest"},
        {"empty", [](const fs::path& run) { spill(run / "latest", ""); }, kNoTag, "latest"},
        {"blank", [](const fs::path& run) { spill(run / "latest", " \r\n"); }, kNoTag, "latest"},
        {"unknown tag", [](const fs::path& run) { spill(run / "latest", "global_step99"); }, kNoTag,
            "global_step99"},
        {"parent", [](const fs::path& run) { spill(run / "latest", "../zero2-w2"); }, kNoTag, "latest"},
        {"deep path", [](const fs::path& run) { spill(run / "latest", "./global_step6"); }, kNoTag, "latest"},
        {"two dots", [](const fs::path& run) { spill(run / "latest", ".."); }, kNoTag, "latest"},
        {"absolute path", [](const fs::path& run) { spill(run / "latest", (run / "global_step6").string()); },
            kNoTag, "latest"},
        {"zero byte", [](const fs::path& run) { spill(run / "latest", std::string("global_step6\0x", 14)); },
            kNoTag, "latest"},
        {"not UTF-8", [](const fs::path& run) { spill(run / "latest", "global\xff\xfe"); }, kNoTag, "latest"},
        {"one gigabyte", [](const fs::path& run) { sparseFile(run / "latest", off_t{1} << 30); }, kNoTag,
            "latest"},
        {"a folder",
            [](const fs::path& run) {
                fs::remove(run / "latest");
                fs::create_directory(run / "latest");
            },
            kNoTag, "latest"},
        {"a pipe", [](const fs::path& run) { makeFifo(run / "latest"); }, kNoTag, "latest"},
        {"a link to nothing",
            [](const fs::path& run) {
                fs::remove(run / "latest");
                fs::create_symlink("nowhere", run / "latest");
            },
            kNoTag, "latest"},
        {"a link to itself",
            [](const fs::path& run) {
                fs::remove(run / "latest");
                fs::create_symlink("latest", run / "latest");
            },
            kNoTag, "latest"},
        {"a file instead of a tag",
            [](const fs::path& run) {
                spill(run / "note", "x");
                spill(run / "latest", "note");
            },
            kNoTag, "latest"},
        {"an empty folder",
            [](const fs::path& run) {
                fs::create_directory(run / "global_step9");
                spill(run / "latest", "global_step9");
            },
            kNoTag, "global_step9"},
        {"a folder without state files",
            [](const fs::path& run) {
                spill(run / "tensorboard/events", "x");
                spill(run / "latest", "tensorboard");
            },
            kNoTag, "tensorboard"},
    });
}

TEST_CASE("latest in a form that still names a tag")
{
    runCases({
        {"with newline", [](const fs::path& run) { spill(run / "latest", "global_step6\n"); }, kFine,
            "global_step6"},
        {"with CRLF", [](const fs::path& run) { spill(run / "latest", "global_step6\r\n"); }, kFine,
            "global_step6"},
        // Python reads the mark as part of the name: stock DeepSpeed finds no such folder.
        {"with byte order mark",
            [](const fs::path& run) { spill(run / "latest", "\xEF\xBB\xBFglobal_step6"); }, kFine,
            "byte order mark"},
    });
}

TEST_CASE("a rank's file name on something that is not a file")
{
    runCases({
        {"a folder",
            [](const fs::path& run) {
                fs::remove(run / kOptim1);
                fs::create_directory(run / kOptim1);
            },
            kOneFileBad, "folder"},
        {"a pipe", [](const fs::path& run) { makeFifo(run / kOptim1); }, kOneFileBad, "not a regular file"},
        {"a link to nothing",
            [](const fs::path& run) {
                fs::remove(run / kOptim1);
                fs::create_symlink("nowhere", run / kOptim1);
            },
            kOneFileBad, "file-unreadable"},
        {"a link to itself",
            [](const fs::path& run) {
                fs::remove(run / kOptim1);
                fs::create_symlink(fs::path(kOptim1).filename(), run / kOptim1);
            },
            kOneFileBad, "file-unreadable"},
        {"an endless device",
            [](const fs::path& run) {
                fs::remove(run / kOptim1);
                fs::create_symlink("/dev/zero", run / kOptim1);
            },
            kOneFileBad, "not a regular file"},
        {"eight exabytes of nothing", [](const fs::path& run) { sparseFile(run / kOptim1, off_t{1} << 40); },
            kOneFileBad, "cannot be read"},
        {"the model file is a folder",
            [](const fs::path& run) {
                fs::remove(run / kModel);
                fs::create_directory(run / kModel);
            },
            kModelUnreadable, "folder"},
        {"the model file is a pipe", [](const fs::path& run) { makeFifo(run / kModel); }, kModelUnreadable,
            "not a regular file"},
    });
}

TEST_CASE("unusual files next to the tag change nothing")
{
    runCases({
        {"names that are no text",
            [](const fs::path& run) {
                spill(run / "global_step6/line\nbreak", "x");
                spill(run / "global_step6/not\xff\xfetext", "x");
                spill(run / "evil\x1b[31m\xff", "x");
            },
            kFine, "zero2"},
        {"a link in a circle",
            [](const fs::path& run) {
                fs::create_directory_symlink("..", run / "global_step6/up");
                fs::create_directory_symlink(".", run / "self");
                fs::create_symlink("loop", run / "loop");
            },
            kFine, "global_step6"},
        {"a pipe", [](const fs::path& run) { makeFifo(run / "global_step6/pipe"); }, kFine, "global_step6"},
        {"leftovers of an interrupted save",
            [](const fs::path& run) {
                spill(run / "global_step6/bf16_zero_pp_rank_1_mp_rank_00_optim_states.pt.tmp", "x");
                spill(run / "global_step6/.nfs0001", "x");
                spill(run / ".global_step6.partial-0123/plan", "x");
            },
            kFine, "global_step6"},
    });
}

TEST_CASE("circular links instead of a run folder")
{
    const TemporaryFolder folder;
    fs::create_symlink(folder / "loop", folder / "loop");
    checkRow(folder / "loop", kNothingHere, "loop", folder);
    fs::create_symlink(folder / "b", folder / "a");
    fs::create_symlink(folder / "a", folder / "b");
    checkRow(folder / "a", kNothingHere, "link", folder);
    const fs::path run = copySample("zero2-w2", folder);
    fs::remove_all(run / "global_step6");
    fs::create_directory_symlink("global_step6", run / "global_step6");
    checkRow(run, kNoTag, "global_step6", folder);
}
