// SPDX-License-Identifier: Apache-2.0
// An export into an existing folder: killed at every call, the same command completes it, and no
// manifest between two exports is trusted.
#include "core/checkpoint/open/open.h"
#include "core/engine/verify/verify.h"
#include "core/engine/write/execute.h"
#include "core/plan/export/export.h"
#include "tests/support/faulting_file_system.h"
#include "tests/support/places.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>

#include <algorithm>

#include <cerrno>
#include <map>

using namespace shardscope;
using namespace shardscope::test;
namespace fs = std::filesystem;

namespace {

WritePlanPtr planOf(const fs::path& source, ExportFormat format, uint64_t shardBytes)
{
    JobContext job;
    auto opened = openCheckpoint(io::realFileSystem(), source, {}, job);
    REQUIRE(opened.has_value());
    auto plan = planExport(io::realFileSystem(), opened->checkpoint,
        {.format = format, .shardBytes = shardBytes, .folderName = "out"}, job);
    REQUIRE(plan.has_value());
    return *plan;
}

Result<ExecuteReport> write(io::FileSystem& files, const WritePlan& plan, const fs::path& folder, bool force)
{
    JobContext job;
    ExecuteOptions options;
    options.destination = folder;
    options.jobs = 1;
    options.force = force;
    return execute(files, plan, options, job);
}

std::map<std::string, std::string> contentOf(const fs::path& folder)
{
    std::map<std::string, std::string> out;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
        const std::string path = fs::relative(entry.path(), folder).string();
        if (entry.is_regular_file() && path.find(".partial-") == std::string::npos)
            out[path] = slurp(entry.path());
    }
    return out;
}

bool verifies(const fs::path& folder)
{
    JobContext job;
    const auto opened = openCheckpoint(io::realFileSystem(), folder, {}, job);
    if (!opened)
        return false;
    const auto report = verifyCheckpoint(io::realFileSystem(), opened->checkpoint, {}, {}, job);
    if (report && opened->checkpoint->kind == CheckpointKind::Weights)
        CHECK_FALSE(report->crc); // safetensors have none
    return report && report->ok;
}

/// Fails every `step`th call in turn, and all after it, of an export over an older one.
void failCalls(ExportFormat format, uint64_t step)
{
    const TemporaryFolder folder(TemporaryFolder::Where::Memory);
    const io::Path samples = io::Path(sourceFolder()) / "tests/data/samples";
    const auto older = planOf(samples / "zero2-w2", format, 1000);
    const auto newer = planOf(samples / "zero1-w2", format, 4000);
    const fs::path out = folder / "out";
    const auto prepare = [&] {
        fs::remove_all(out);
        fs::create_directory(out);
        spill(out / "mine.txt", "not of an export");
        REQUIRE(write(io::realFileSystem(), *older, folder.path(), false).has_value());
    };
    prepare();
    const auto before = contentOf(out);
    io::FaultingFileSystem counting(io::realFileSystem());
    REQUIRE(write(counting, *newer, folder.path(), true).has_value());
    const auto wanted = contentOf(out);
    CHECK(wanted.at("mine.txt") == "not of an export");
    CHECK(wanted.size() == newer->files.size() + 2); // no file of the older export is left
    REQUIRE(before != wanted);
    auto complete = wanted; // verifies by its own checksums, whatever is beside it
    complete.erase("shardscope.json");
    size_t halfPublished = 0;
    for (uint64_t call = 1; call <= counting.callsSoFar(); call += step) {
        CAPTURE(call);
        prepare();
        io::FaultingFileSystem files(io::realFileSystem(),
            {.callNumber = call, .errnoValue = EIO, .repeat = true, .tornWrites = true});
        (void)write(files, *newer, folder.path(), true);
        const auto found = contentOf(out);
        CHECK(found.at("mine.txt") == "not of an export");
        const bool isComplete = std::ranges::includes(found, complete);
        if (found != before && !isComplete) {
            ++halfPublished;
            CHECK_FALSE(verifies(out));
        }
        const auto again = write(io::realFileSystem(), *newer, folder.path(), true);
        REQUIRE_MESSAGE(again.has_value(), (again ? "" : describe(again.error())));
        CHECK(contentOf(out) == wanted);
        CHECK(verifies(out));
        for (const auto& entry : fs::directory_iterator(out))
            CHECK(entry.path().filename().string().find(".partial-") == std::string::npos);
    }
    CHECK(halfPublished > 0);
}

} // namespace

TEST_CASE("an export over an older one survives the failure of any call: safetensors")
{
    failCalls(ExportFormat::Safetensors, 1);
}

TEST_CASE("an export over an older one survives the failure of any call: a distributed checkpoint")
{
    failCalls(ExportFormat::Dcp, 29);
}

TEST_CASE("files that an interrupted export is still publishing are compared with what was sealed")
{
    const TemporaryFolder folder(TemporaryFolder::Where::Memory);
    const auto plan
        = planOf(io::Path(sourceFolder()) / "tests/data/samples/zero2-w2", ExportFormat::Safetensors, 1000);
    REQUIRE(plan->files.size() > 3);
    const fs::path out = folder / "out";
    const auto exported
        = [&](io::FileSystem& files, bool force) { return write(files, *plan, folder.path(), force); };
    REQUIRE(exported(io::realFileSystem(), false));
    const auto wanted = contentOf(out);
    size_t tried = 0;
    io::FaultingFileSystem counting(io::realFileSystem());
    REQUIRE(exported(counting, true));
    for (uint64_t call = 1; call <= counting.callsSoFar(); ++call) {
        fs::remove_all(out);
        fs::create_directory(out);
        io::FaultingFileSystem files(
            io::realFileSystem(), {.callNumber = call, .errnoValue = EIO, .repeat = true});
        (void)exported(files, false);
        const std::string name = plan->files[1].path;
        if (!fs::exists(out / name) || fs::exists(out / "shardscope.json"))
            continue;
        ++tried;
        CAPTURE(call);
        std::string bytes = slurp(out / name);
        bytes.back() = static_cast<char>(bytes.back() ^ 1);
        spill(out / name, bytes);
        (void)exported(io::realFileSystem(), false); // may refuse to replace it
        CHECK((!fs::exists(out / "shardscope.json") || contentOf(out) == wanted));
        const auto again = exported(io::realFileSystem(), true);
        REQUIRE_MESSAGE(again.has_value(), (again ? "" : describe(again.error())));
        CHECK(contentOf(out) == wanted);
    }
    CHECK(tried > 3);
}

TEST_CASE("files of the older export that were changed since are kept")
{
    const TemporaryFolder folder(TemporaryFolder::Where::Memory);
    const io::Path samples = io::Path(sourceFolder()) / "tests/data/samples";
    const auto older = planOf(samples / "zero2-w2", ExportFormat::Safetensors, 1000);
    const auto newer = planOf(samples / "zero2-w2", ExportFormat::Safetensors, uint64_t{1} << 30);
    REQUIRE(write(io::realFileSystem(), *older, folder.path(), false).has_value());
    const std::string changed = older->files.front().path;
    const std::string whole = older->files.back().path;
    spill(folder / "out" / changed, "other bytes");
    REQUIRE(newer->files.size() == 1);
    REQUIRE(write(io::realFileSystem(), *newer, folder.path(), false).has_value() == false);
    REQUIRE(write(io::realFileSystem(), *newer, folder.path(), true).has_value());
    CHECK(slurp(folder / "out" / changed) == "other bytes");
    CHECK(!fs::exists(folder / "out" / whole));
}
