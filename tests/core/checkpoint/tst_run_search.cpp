// SPDX-License-Identifier: Apache-2.0
// Runs below a folder: nested, behind links, unreadable, none, too many.
#include "core/checkpoint/folder/discover.h"
#include "core/checkpoint/folder/run_search.h"
#include "core/engine/verify/run_list.h"
#include "tests/support/faulting_file_system.h"
#include "tests/support/places.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>

#include <atomic>
#include <filesystem>

using namespace shardscope;
using shardscope::test::spill;
using shardscope::test::TemporaryFolder;
namespace fs = std::filesystem;

namespace {

fs::path addRun(const fs::path& to, const std::string& sample = "zero2-w2")
{
    fs::create_directories(to.parent_path());
    fs::copy(sourceFolder() + "/tests/data/samples/" + sample, to, fs::copy_options::recursive);
    return to;
}

/// A folder whose path ends with `part` cannot be listed. Counts what is listed.
class Unlistable : public io::FaultingFileSystem
{
public:
    explicit Unlistable(std::string part)
        : io::FaultingFileSystem(io::realFileSystem())
        , m_part(std::move(part))
    {
    }
    std::atomic<size_t> listed = 0;

    Result<std::vector<io::DirectoryEntry>> list(const io::Path& path) override
    {
        ++listed;
        if (!m_part.empty() && path.native().ends_with(m_part))
            return fail(ErrorCode::Unreadable, "cannot list the folder: Permission denied", path.native());
        return io::FaultingFileSystem::list(path);
    }

private:
    std::string m_part;
};

RunsFolder runsIn(const fs::path& folder, io::FileSystem& files = io::realFileSystem())
{
    JobContext job;
    const auto tags = tagsOf(files, folder, job);
    REQUIRE(!tags);
    auto found = runsInsteadOf(files, folder, tags.error(), job);
    REQUIRE(found);
    return std::move(*found);
}

RunSummary summaryOf(const RunsFolder& runs, size_t i, io::FileSystem& files = io::realFileSystem())
{
    JobContext job;
    auto summary = summarizeRun(files, runs, runs.found.paths[i], 1, job);
    REQUIRE(summary);
    return std::move(*summary);
}

} // namespace

TEST_CASE("runs are found at several levels, and no link is followed")
{
    const TemporaryFolder folder;
    const fs::path base = fs::canonical(folder.path()) / "all";
    addRun(base / "a");
    addRun(base / "group/b", "zero3-w4");
    addRun(folder / "elsewhere/c");
    fs::create_directory_symlink(folder / "elsewhere", base / "away");
    fs::create_directory_symlink(base, base / "group/loop");
    const RunsFolder runs = runsIn(base);
    CHECK(runs.path == base);
    CHECK(runs.found.paths == std::vector{(base / "a").string(), (base / "group/b").string()});
    CHECK(runs.found.links == std::vector{(base / "away").string(), (base / "group/loop").string()});
    CHECK(!runs.found.more);
    CHECK(runs.found.unreadable.empty());
    const RunSummary nested = summaryOf(runs, 1);
    CHECK(nested.name == "group/b");
    REQUIRE(nested.newestComplete() != nullptr);
    CHECK(nested.newestComplete()->steps.globalSteps == 5);
    CHECK(nested.newestComplete()->parallel.ranks() == 4);
    CHECK(nested.unread() == 0);
}

TEST_CASE("a folder that cannot be listed is named, and does not count as absent")
{
    const TemporaryFolder folder;
    const fs::path base = fs::canonical(folder.path());
    addRun(base / "a");
    addRun(base / "group/b");
    SUBCASE("next to runs")
    {
        Unlistable files("/group");
        const RunsFolder runs = runsIn(base, files);
        CHECK(runs.found.paths == std::vector{(base / "a").string()});
        REQUIRE(runs.found.unreadable.size() == 1);
        CHECK(runs.found.unreadable[0].path == (base / "group").string());
        CHECK(runs.found.more);
    }
    SUBCASE("a tag of a run")
    {
        Unlistable files("/b/global_step6");
        const RunsFolder runs = runsIn(base, files);
        REQUIRE(runs.found.paths.size() == 2);
        CHECK(!summaryOf(runs, 0, files).error);
        const RunSummary broken = summaryOf(runs, 1, files);
        REQUIRE(broken.error);
        CHECK(broken.error->code == ErrorCode::Unreadable);
        CHECK(broken.read.empty());
        CHECK(broken.shown() == nullptr);
    }
    SUBCASE("the folder itself")
    {
        Unlistable files(base.filename().string());
        JobContext job;
        const auto tags = tagsOf(files, base, job);
        REQUIRE(!tags);
        CHECK(tags.error().code == ErrorCode::Unreadable);
        const auto runs = runsInsteadOf(files, base, tags.error(), job);
        REQUIRE(runs);
        CHECK(runs->found.paths.empty());
    }
}

TEST_CASE("the tags of a run are no runs, whatever is wrong with it")
{
    const TemporaryFolder folder;
    const fs::path run = addRun(folder / "run");
    Unlistable files("/global_step6");
    JobContext job;
    const auto tags = tagsOf(files, run, job);
    REQUIRE(!tags);
    CHECK(tags.error().code == ErrorCode::Unreadable);
    const auto runs = runsInsteadOf(files, run, tags.error(), job);
    REQUIRE(runs);
    CHECK(runs->found.paths.empty());
}

TEST_CASE("a run shows its newest complete tag, and why a newer one is none")
{
    const TemporaryFolder folder;
    const fs::path base = fs::canonical(folder.path()) / "all";
    const fs::path run = addRun(base / "run");
    addRun(base / "other");
    fs::remove(run / "global_step6/bf16_zero_pp_rank_1_mp_rank_00_optim_states.pt");
    spill(base / "other/latest", "global_step99");
    const RunsFolder runs = runsIn(base);
    const RunSummary other = summaryOf(runs, 0);
    REQUIRE(other.tags.findings.size() == 1);
    CHECK(other.tags.findings[0].code == "latest-dangling");
    CHECK(other.count(Severity::Error) == 1);
    CHECK(other.newestComplete()->tag == "global_step6");
    const RunSummary broken = summaryOf(runs, 1);
    REQUIRE(broken.read.size() == 2);
    CHECK(!broken.read[0].isComplete());
    CHECK(broken.newestComplete()->tag == "global_step3");
    CHECK(broken.shown() == broken.newestComplete());
}

TEST_CASE("a run with many incomplete tags is read no further than the newest of them")
{
    const TemporaryFolder folder;
    const fs::path run = addRun(folder / "all/run");
    fs::remove_all(run / "global_step6");
    fs::remove(run / "global_step3/bf16_zero_pp_rank_1_mp_rank_00_optim_states.pt");
    for (size_t i = 0; i < kMostTagsOfRun + 3; ++i)
        fs::copy(run / "global_step3", run / ("global_step" + std::to_string(100 + i)));
    const RunSummary summary = summaryOf(runsIn(folder / "all"), 0);
    CHECK(summary.read.size() == kMostTagsOfRun);
    CHECK(summary.unread() == 4);
    CHECK(summary.newestComplete() == nullptr);
    CHECK(summary.shown() == &summary.read.front());
}

TEST_CASE("an empty folder and one without runs have none")
{
    const TemporaryFolder folder;
    CHECK(runsIn(folder.path()).found.paths.empty());
    fs::create_directories(folder / "logs/today");
    spill(folder / "logs/notes.txt", "");
    CHECK(runsIn(folder.path()).found.paths.empty());
}

TEST_CASE("the search ends in a large folder, and when it is cancelled")
{
    const TemporaryFolder folder(TemporaryFolder::Where::Memory);
    addRun(folder / "zz/run");
    for (int i = 0; i < 2500; ++i)
        fs::create_directories(folder / ("data/" + std::to_string(i)));
    Unlistable files("");
    JobContext job;
    const auto runs = runsBelow(files, folder.path(), job);
    REQUIRE(runs);
    CHECK(runs->more);
    CHECK(files.listed < 6000);
    std::stop_source stop;
    stop.request_stop();
    JobContext cancelled(stop.get_token());
    const auto none = runsBelow(files, folder.path(), cancelled);
    REQUIRE(!none);
    CHECK(none.error().code == ErrorCode::Cancelled);
}
