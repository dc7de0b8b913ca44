// SPDX-License-Identifier: Apache-2.0
// What a repair does not change is copied as it is, byte for byte.
#include "core/engine/write/execute.h"
#include "core/engine/write/preflight.h"
#include "core/io/faulting_file_system.h"
#include "tests/core/plan/repair/repair_fixture.h"

#include <algorithm>

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

/// A disk that is all but full, which can share bytes or cannot.
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

const std::vector<const char*> kSamples{"zero1-w2", "zero2-w2", "zero3-w4", "bf16opt-w2", "experts-w4",
    "autoep-w4", "slices-w4", "pipeline-w4", "stage0-bf16", "zenflow-w2", "muon-w3"};

} // namespace

TEST_CASE("where the pointer alone is wrong, every file is the source's")
{
    for (const char* sample : kSamples) {
        CAPTURE(sample);
        const Patchable hurt(sample);
        const TemporaryFolder folder(TemporaryFolder::Where::Memory);
        fs::remove(hurt.run() / "latest");
        const Repaired repaired = repair(hurt, {.fixes = {"latest-missing"}}, folder / "repaired");
        CHECK(sameFiles(hurt.tag(), repaired.copy->tagFolder) == allFiles(hurt.tag()));
        checkSameState(repaired.copy, openForPlan(planSample(sample)));
    }
}

TEST_CASE("where a shard is rebuilt, all other files are the source's")
{
    for (const char* sample : {"zero2-w2", "zero3-w4", "slices-w4", "autoep-w4"}) {
        CAPTURE(sample);
        const CheckpointPtr whole = openForPlan(planSample(sample));
        const TemporaryFolder folder(TemporaryFolder::Where::Memory);
        ReshardOptions other;
        other.worldSize = 2 * whole->parallel.ranks();
        rewrite(whole, other, folder / "donor");
        const Patchable hurt(sample);
        fs::remove(hurt.tag() / hurt.filesLike("optim_states.pt").back());
        const Repaired repaired = repair(hurt,
            {.fixes = {"L6"},
                .donor = (folder / "donor").string(),
                .masters = RepairOptions::Masters::Donor,
                .moments = RepairOptions::Moments::Donor},
            folder / "repaired");
        CHECK(sameFiles(hurt.tag(), repaired.copy->tagFolder) == allFiles(hurt.tag()));
        CHECK(!repaired.plan->marks().empty());
        checkSameState(repaired.copy, whole);
    }
}

TEST_CASE("values that are set are in no file that stays")
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

TEST_CASE("a file that stays is held against its own checksums")
{
    const Patchable hurt("zero2-w2");
    const TemporaryFolder folder(TemporaryFolder::Where::Memory);
    fs::remove(hurt.run() / "latest");
    const fs::path shard = hurt.tag() / hurt.filesLike("optim_states.pt").front();
    std::string bytes = slurp(shard);
    bytes[bytes.size() / 2] ^= 1;
    spill(shard, bytes);
    JobContext job;
    const auto plan = planRepair(io::realFileSystem(), hurt.run(), {}, {.fixes = {"latest-missing"}}, job);
    REQUIRE(plan);
    ExecuteOptions execution;
    execution.destination = folder / "repaired";
    execution.sourceRunFolder = hurt.run();
    const auto report = execute(io::realFileSystem(), **plan, execution, job);
    REQUIRE(!report);
    CHECK(report.error().code == ErrorCode::Damaged);
    CHECK(!fs::exists(folder / "repaired" / "global_step6"));
}

TEST_CASE("files of an older form are all written as today's")
{
    const Patchable hurt("ds0510-zero2-w3");
    const TemporaryFolder folder(TemporaryFolder::Where::Memory);
    fs::remove(hurt.run() / "latest");
    const Repaired repaired = repair(hurt, {.fixes = {"latest-missing"}}, folder / "repaired");
    CHECK(sameFiles(hurt.tag(), repaired.copy->tagFolder).empty());
    checkSameState(repaired.copy, openForPlan(planSample("ds0510-zero2-w3")));
}

TEST_CASE("what shares its source's bytes needs no space")
{
    const Patchable hurt("zero2-w2");
    fs::remove(hurt.tag() / "bf16_zero_pp_rank_1_mp_rank_00_optim_states.pt");
    JobContext job;
    const auto plan = planRepair(io::realFileSystem(), hurt.run(), {}, {.fixes = {"rank-missing"}}, job);
    REQUIRE(plan);
    const TemporaryFolder folder(TemporaryFolder::Where::Memory);
    uint64_t copied = 0;
    for (const PlannedFile& file : (*plan)->files()) {
        CHECK(file.copyOf.has_value()
            == (file.path.find("rank_1_") == std::string::npos && file.path != "repair.json"));
        copied += file.copyOf ? file.bytes : 0;
    }
    // Folders, journal and manifest take a MiB and one percent.
    const uint64_t free = (uint64_t{1} << 20) + (*plan)->writesBytes() - copied / 2;
    for (const bool canShare : {false, true}) {
        CAPTURE(canShare);
        FullDisk disk(free, canShare);
        CHECK(sharedBytes(disk, **plan, folder / "not/there", [](size_t) { return false; })
            == (canShare ? copied : 0));
        ExecuteOptions options;
        options.destination = folder / "out";
        options.sourceRunFolder = hurt.run();
        const auto report = execute(disk, **plan, options, job);
        CHECK(report.has_value() == canShare);
        if (!report)
            CHECK(report.error().code == ErrorCode::NoSpace);
        CHECK(fs::exists(folder / "out") == canShare); // or nothing is left
    }
}
