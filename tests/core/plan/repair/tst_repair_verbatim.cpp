// SPDX-License-Identifier: Apache-2.0
// What a repair does not change is copied as it is, byte for byte.
#include "core/engine/write/execute.h"
#include "core/engine/write/output_builder.h"
#include "core/engine/write/part_run.h"
#include "core/engine/write/preflight.h"
#include "core/io/forwarding_file_system.h"
#include "tests/core/plan/repair/repair_fixture.h"
#include "tests/support/faulting_file_system.h"

#include <algorithm>
#include <atomic>

using namespace shardscope;
using namespace shardscope::test;
namespace fs = std::filesystem;

namespace {

/// Files of two tag folders that have the same name and the same bytes.
std::set<std::string> sameFiles(const fs::path& a, const fs::path& b)
{
    std::set<std::string> out;
    for (const auto& entry : fs::recursive_directory_iterator(a)) {
        const fs::path name = fs::relative(entry.path(), a);
        if (entry.is_regular_file() && fs::exists(b / name) && slurp(entry.path()) == slurp(b / name))
            out.insert(name.string());
    }
    return out;
}

std::set<std::string> allFiles(const fs::path& folder)
{
    return sameFiles(folder, folder);
}

/// An almost full disk, which can share bytes or cannot.
class FullDisk final : public io::FaultingFileSystem
{
public:
    FullDisk(uint64_t freeBytes, bool canShare)
        : FaultingFileSystem(io::realFileSystem())
        , m_freeBytes(freeBytes)
        , m_canShare(canShare)
    {
    }
    Result<io::Space> space(const io::Path&) override { return io::Space{m_freeBytes, UINT64_MAX}; }
    bool canShareBytes(const io::Path&, const io::Path&) override { return m_canShare; }

private:
    uint64_t m_freeBytes;
    bool m_canShare;
};

/// A disk that shares bytes: a copy of them stands for that. Counts the other bytes that are written to files
/// of DeepSpeed.
class SharingDisk final : public io::ForwardingFileSystem
{
public:
    SharingDisk()
        : ForwardingFileSystem(io::realFileSystem())
    {
    }
    bool canShareBytes(const io::Path&, const io::Path&) override { return true; }
    Result<std::unique_ptr<io::WriteFile>> openShared(const io::Path& path, uint32_t mode) override
    {
        SHARDSCOPE_TRY(auto file, ForwardingFileSystem::openShared(path, mode));
        return std::make_unique<File>(std::move(file), *this);
    }
    std::atomic<uint64_t> written = 0;
    std::atomic<int> shared = 0;

private:
    class File final : public io::ForwardingWriteFile
    {
    public:
        File(std::unique_ptr<io::WriteFile> inner, SharingDisk& disk)
            : ForwardingWriteFile(std::move(inner))
            , m_disk(disk)
        {
        }
        bool shareBytesOf(const io::ReadFile& from) override
        {
            spill(path(), slurp(from.path()));
            ++m_disk.shared;
            return true;
        }
        Status writeAt(uint64_t offset, std::span<const uint8_t> bytes) override
        {
            m_disk.written += bytes.size();
            return ForwardingWriteFile::writeAt(offset, bytes);
        }

    private:
        SharingDisk& m_disk;
    };
};

const std::vector<const char*> kSamples{"zero1-w2", "zero2-w2", "zero3-w4", "bf16opt-w2", "experts-w4",
    "autoep-w4", "slices-w4", "pipeline-w4", "stage0-bf16", "zenflow-w2", "muon-w3"};

} // namespace

TEST_CASE("if only the pointer is wrong, every file is copied unchanged")
{
    for (const char* sample : kSamples) {
        CAPTURE(sample);
        const Patchable damaged(sample);
        const TemporaryFolder folder(TemporaryFolder::Where::Memory);
        fs::remove(damaged.run() / "latest");
        const Repaired repaired = repair(damaged, {.fixes = {"latest-missing"}}, folder / "repaired");
        CHECK(sameFiles(damaged.tag(), repaired.copy->tagFolder) == allFiles(damaged.tag()));
        checkSameState(repaired.copy, openForPlan(planSample(sample)));
    }
}

TEST_CASE("if a shard is rebuilt, all other files are copied unchanged")
{
    for (const char* sample : {"zero2-w2", "zero3-w4", "slices-w4", "autoep-w4"}) {
        CAPTURE(sample);
        const CheckpointPtr whole = openForPlan(planSample(sample));
        const TemporaryFolder folder(TemporaryFolder::Where::Memory);
        ReshardOptions other;
        other.worldSize = 2 * whole->parallel.ranks();
        rewrite(whole, other, folder / "donor");
        const Patchable damaged(sample);
        fs::remove(damaged.tag() / damaged.filesLike("optim_states.pt").back());
        const Repaired repaired = repair(damaged,
            {.fixes = {"L6"},
                .donor = (folder / "donor").string(),
                .masters = RepairOptions::Masters::Donor,
                .moments = RepairOptions::Moments::Donor},
            folder / "repaired");
        CHECK(sameFiles(damaged.tag(), repaired.copy->tagFolder) == allFiles(damaged.tag()));
        CHECK(!repaired.plan->marks.empty());
        checkSameState(repaired.copy, whole);
    }
}

TEST_CASE("files with set values are not copied unchanged")
{
    const Patchable source("zero2-w2");
    const TemporaryFolder folder(TemporaryFolder::Where::Memory);
    const auto model = source.filesLike("model_states.pt");
    const auto optim = source.filesLike("optim_states.pt");
    const auto stays = [&](const char* value, const char* name) {
        const Repaired repaired = repair(source, {.values = {value}}, folder / name);
        return sameFiles(source.tag(), repaired.copy->tagFolder);
    };
    CHECK(stays("lr=0.5", "rate") == std::set<std::string>(model.begin(), model.end()));
    CHECK(stays("step=9", "step") == std::set<std::string>(model.begin(), model.end()));
    CHECK(stays("global_steps=9", "counter") == std::set<std::string>(optim.begin(), optim.end()));
}

TEST_CASE("a copied file is checked against its own checksums")
{
    const Patchable damaged("zero2-w2");
    const TemporaryFolder folder(TemporaryFolder::Where::Memory);
    fs::remove(damaged.run() / "latest");
    const fs::path shard = damaged.tag() / damaged.filesLike("optim_states.pt").front();
    std::string bytes = slurp(shard);
    bytes[bytes.size() / 2] ^= 1;
    spill(shard, bytes);
    JobContext job;
    const auto plan = planRepair(io::realFileSystem(), damaged.run(), {}, {.fixes = {"latest-missing"}}, job);
    REQUIRE(plan);
    ExecuteOptions execution;
    execution.destination = folder / "repaired";
    execution.sourceRunFolder = damaged.run();
    const auto report = execute(io::realFileSystem(), **plan, execution, job);
    REQUIRE(!report);
    CHECK(report.error().code == ErrorCode::Damaged);
    CHECK(!fs::exists(folder / "repaired" / "global_step6"));
}

TEST_CASE("all files of an older form are rewritten in today's form")
{
    const Patchable damaged("ds0510-zero2-w3");
    const TemporaryFolder folder(TemporaryFolder::Where::Memory);
    fs::remove(damaged.run() / "latest");
    const Repaired repaired = repair(damaged, {.fixes = {"latest-missing"}}, folder / "repaired");
    CHECK(sameFiles(damaged.tag(), repaired.copy->tagFolder).empty());
    checkSameState(repaired.copy, openForPlan(planSample("ds0510-zero2-w3")));
}

TEST_CASE("copied files share the source's bytes, in one process and in parts")
{
    const Patchable damaged("zero2-w2");
    fs::remove(damaged.run() / "latest");
    JobContext job;
    const auto plan = planRepair(io::realFileSystem(), damaged.run(), {}, {.fixes = {"latest-missing"}}, job);
    REQUIRE(plan);
    const auto copies = std::ranges::count_if(
        (*plan)->files, [](const PlannedFile& file) { return file.copyOf.has_value(); });
    REQUIRE(copies > 2);
    const uint64_t recorded = (*plan)->files.back().bytes; // repair.json is no copy
    {
        // Processes that divide a job write the files that they share.
        const TemporaryFolder folder(TemporaryFolder::Where::Memory);
        SharingDisk disk;
        const auto work = WorkFolder::open(disk, **plan, folder.path(), {}, job);
        REQUIRE(work);
        const auto all = rangesOf(**plan, {}, {});
        REQUIRE(all);
        CHECK(unreservedBytes(disk, **plan, **work, *all, true) == recorded);
        CHECK(unreservedBytes(disk, **plan, **work, *all, false) == (*plan)->writesBytes);
    }
    for (const uint32_t parts : {1u, 2u}) {
        CAPTURE(parts);
        const TemporaryFolder folder(TemporaryFolder::Where::Memory);
        SharingDisk disk;
        ExecuteOptions execution;
        execution.destination = folder / "repaired";
        execution.sourceRunFolder = damaged.run();
        for (uint32_t part = 0; parts > 1 && part < parts; ++part)
            REQUIRE(executePart(disk, **plan, {part, parts}, execution, job));
        const auto report = execute(disk, **plan, execution, job);
        REQUIRE_MESSAGE(report, describe(report.error()));
        CHECK(report->verified);
        CHECK(disk.shared == copies);
        CHECK(disk.written == recorded);
        CHECK(sameFiles(damaged.tag(), report->output) == allFiles(damaged.tag()));
    }
}

TEST_CASE("files that share the source's bytes need no space")
{
    const Patchable damaged("zero2-w2");
    fs::remove(damaged.tag() / "bf16_zero_pp_rank_1_mp_rank_00_optim_states.pt");
    JobContext job;
    const auto plan = planRepair(io::realFileSystem(), damaged.run(), {}, {.fixes = {"rank-missing"}}, job);
    REQUIRE(plan);
    const TemporaryFolder folder(TemporaryFolder::Where::Memory);
    uint64_t copied = 0;
    for (const PlannedFile& file : (*plan)->files) {
        CHECK(file.copyOf.has_value()
            == (file.path.find("rank_1_") == std::string::npos && file.path != "repair.json"));
        copied += file.copyOf ? file.bytes : 0;
    }
    // Folders, journal and manifest take a MiB and one percent.
    const uint64_t free = (uint64_t{1} << 20) + (*plan)->writesBytes - copied / 2;
    for (const bool canShare : {false, true}) {
        CAPTURE(canShare);
        FullDisk disk(free, canShare);
        CHECK(sharedBytes(disk, **plan, folder / "not/there", [](size_t) { return false; })
            == (canShare ? copied : 0));
        ExecuteOptions options;
        options.destination = folder / "out";
        options.sourceRunFolder = damaged.run();
        const auto report = execute(disk, **plan, options, job);
        CHECK(report.has_value() == canShare);
        if (!report)
            CHECK(report.error().code == ErrorCode::NoSpace);
        CHECK(fs::exists(folder / "out") == canShare); // or nothing is left
    }
}
