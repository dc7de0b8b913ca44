// SPDX-License-Identifier: Apache-2.0
// Checkpoints of NVMe offload, made from a sample of the same state: what is read and written must be the
// sample's.
#include "core/base/finding_codes.h"
#include "core/checkpoint/folder/open_depth.h"
#include "core/checkpoint/open/open.h"
#include "core/layout/fragments.h"
#include "tests/core/plan/plan_fixture.h"
#include "tests/support/plain_writer.h"
#include "tests/support/swapped_checkpoint.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>

using namespace shardscope;
using namespace shardscope::test;
namespace fs = std::filesystem;

namespace {

using Where = TemporaryFolder::Where;

/// A run folder to be swapped out: a copy of the sample with all its ranks, or rewritten for another number.
class Run
{
public:
    explicit Run(uint32_t ranks = 4, std::optional<uint64_t> subGroupSize = {})
        : m_folder(Where::Memory)
    {
        const CheckpointPtr sample = openForPlan(planSample("zero3-w4"));
        if (ranks == sample->parallel.dp && !subGroupSize)
            fs::copy(sample->runFolder, m_folder.path(), fs::copy_options::recursive);
        else
            plainWrite(*planFor(sample, {.worldSize = ranks, .subGroupSize = subGroupSize}), m_folder.path());
    }

    [[nodiscard]] const fs::path& path() const { return m_folder.path(); }
    [[nodiscard]] fs::path tag() const { return m_folder / "global_step5"; }
    [[nodiscard]] fs::path swapFile(uint32_t rank, const std::string& name) const
    {
        return tag() / "offloaded_tensors" / ("rank0" + std::to_string(rank)) / name;
    }
    [[nodiscard]] CheckpointPtr open(const std::vector<io::Path>& roots = {}) const
    {
        JobContext job;
        OpenOptions options;
        options.roots = roots;
        auto opened = openCheckpoint(io::realFileSystem(), path(), options, job);
        REQUIRE_MESSAGE(opened.has_value(), (opened ? "" : describe(opened.error())));
        return opened->checkpoint;
    }

private:
    TemporaryFolder m_folder;
};

std::vector<Finding> findingsOf(const CheckpointPtr& checkpoint, std::string_view code)
{
    std::vector<Finding> out;
    std::copy_if(checkpoint->findings.begin(), checkpoint->findings.end(), std::back_inserter(out),
        [&](const Finding& finding) { return finding.code == code; });
    return out;
}

CheckpointPtr sample()
{
    return openForPlan(planSample("zero3-w4"));
}

/// Readable to the last element, and the sample's.
void checkWhole(const CheckpointPtr& checkpoint)
{
    for (const Finding& finding : checkpoint->findings)
        CHECK_MESSAGE(finding.severity != Severity::Error, finding.where.text(), ": ", finding.message);
    REQUIRE(!checkpoint->modelError);
    CHECK(checkpoint->complete);
    checkSameState(checkpoint, sample());
}

bool isRefused(const CheckpointPtr& source, const std::vector<std::string>& allow = {})
{
    JobContext job;
    const auto plan = planReshard(io::realFileSystem(), source, {.worldSize = 2, .allow = allow}, job);
    return !plan && plan.error().code == ErrorCode::Refused;
}

size_t swappedRuns(const Checkpoint& checkpoint)
{
    size_t count = 0;
    for (const FlatUnit& unit : checkpoint.units) {
        for (const UnitState& state : unit.states) {
            for (const StoredRun& run : state.perRank)
                count += run.isPresent() && checkpoint.file(run.file).role == FileRole::Swap ? 1 : 0;
        }
    }
    return count;
}

} // namespace

TEST_CASE("swapped sub-groups are read from their swap files, for any tensors in the optimizer files")
{
    for (const bool ids : {true, false}) {
        for (const bool pipelined : {false, true}) {
            if (pipelined && !ids)
                continue; // full tensors of small sub-groups are only ignored by their ids or sizes
            CAPTURE(ids);
            CAPTURE(pipelined);
            const Run run;
            swapOut(run.tag(), {.subgroups = {0, 2}, .ids = ids, .pipelined = pipelined});
            const CheckpointPtr checkpoint = run.open();
            checkWhole(checkpoint);
            CHECK(swappedRuns(*checkpoint) == 2 * 3 * 4);
            const auto copies = findingsOf(checkpoint, code::kSwapCopy);
            CHECK(copies.size() == (pipelined ? 1 : 0));
            if (pipelined) {
                CHECK(copies[0].message.find("24 tensors") != std::string::npos);
                CHECK(copies[0].message.find("24 of the tensors differ") != std::string::npos);
                CHECK(copies[0].evidence.front() == "differs: dp0.tp0.pp0/subgroup0+0:3072@fp32");
            }
            CHECK(
                std::any_of(checkpoint->evidence.begin(), checkpoint->evidence.end(), [&](const auto& text) {
                    return text.find(ids ? "found by the `ds_id`" : "found by the sizes")
                        != std::string::npos;
                }));
        }
    }
}

TEST_CASE("a swapped checkpoint is completed into ordinary shards of any number of ranks, and into others")
{
    const Run run;
    swapOut(run.tag(), {.subgroups = {0, 1, 2}});
    const CheckpointPtr source = run.open();
    for (const uint32_t ranks : {1u, 2u, 3u, 4u, 7u}) {
        CAPTURE(ranks);
        const TemporaryFolder folder(Where::Memory);
        const CheckpointPtr result = rewrite(source, {.worldSize = ranks}, folder.path());
        checkSameState(result, source);
        checkSameState(result, sample());
        CHECK(swappedRuns(*result) == 0);
        CHECK(!fs::exists(folder / "global_step5/offloaded_tensors"));
    }
    const TemporaryFolder stage2(Where::Memory);
    checkSameState(rewrite(source, {.worldSize = 2, .stage = 2}, stage2.path()), sample());
    const TemporaryFolder universal(Where::Memory);
    checkSameState(rewrite(source, {.form = TargetForm::Universal}, universal.path()), sample());
}

TEST_CASE("the same optimizer files are written as from the checkpoint that was never swapped")
{
    const Run run;
    swapOut(run.tag(), {.subgroups = {1, 2}, .pipelined = true});
    const auto swapped = planFor(run.open(), {.worldSize = 3});
    const auto plain = planFor(sample(), {.worldSize = 3});
    REQUIRE(swapped->files.size() == plain->files.size());
    size_t compared = 0;
    for (size_t i = 0; i < plain->files.size(); ++i) {
        if (plain->files[i].path.find("optim_states") == std::string::npos)
            continue; // model files differ in the configuration
        CAPTURE(plain->files[i].path);
        CHECK(plainBytes(*swapped, i) == plainBytes(*plain, i));
        ++compared;
    }
    CHECK(compared == 3);
    const auto& warnings = swapped->warnings;
    CHECK(std::any_of(warnings.begin(), warnings.end(),
        [](const Finding& finding) { return finding.message.find("NVMe") != std::string::npos; }));
    CHECK(std::any_of(swapped->sources.begin(), swapped->sources.end(), [](const PlanSource& source) {
        return source.records.size() == 1 && !source.records[0].crcPresent;
    }));
}

TEST_CASE("releases without a folder per rank are read if a single rank saved")
{
    for (const char* version : {"0.13.1", "0.17.6"}) {
        for (const bool ids : {true, false}) {
            CAPTURE(version);
            CAPTURE(ids);
            const bool allParams = std::string(version) == "0.13.1";
            const Run run(1);
            swapOut(run.tag(),
                {.depth = SwapForm::Depth::Flat,
                    .subgroups = {0, 1},
                    .ids = ids,
                    .allParams = allParams,
                    .version = version});
            const CheckpointPtr checkpoint = run.open();
            CHECK(checkpoint->deepspeedVersion == version);
            checkWhole(checkpoint);
            CHECK(swappedRuns(*checkpoint) == 2 * 3);
        }
    }
    const Run run;
    swapOut(run.tag(), {.depth = SwapForm::Depth::Flat, .subgroups = {0}, .version = "0.17.6"});
    const CheckpointPtr raced = run.open();
    const auto missing = findingsOf(raced, code::kSwapMissing);
    REQUIRE(missing.size() == 4);
    CHECK(missing[2].where.text() == "dp2.tp0.pp0");
    CHECK(missing[2].message.find("before 0.18.0") != std::string::npos);
    CHECK(swappedRuns(*raced) == 0);
    CHECK(isRefused(raced));
    CHECK(isRefused(raced, {std::string(code::kSwapMissing)}));
}

TEST_CASE("sub-groups of equal size that only the order identifies are reported and block writing")
{
    const Run run(2, 1); // a sub-group for every parameter; those of the two layers have equal sizes
    swapOut(run.tag(), {.subgroups = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, .ids = false});
    const CheckpointPtr checkpoint = run.open();
    const auto found = findingsOf(checkpoint, code::kSwapUnmapped);
    REQUIRE(found.size() == 1);
    CHECK(found[0].severity == Severity::Error);
    CHECK(isRefused(checkpoint));
    const TemporaryFolder folder(Where::Memory);
    plainWrite(*planFor(checkpoint,
                   {.worldSize = 3, .subGroupSize = 3000, .allow = {std::string(code::kSwapUnmapped)}}),
        folder.path());
    checkSameState(openForPlan(folder.path()), sample()); // the order was right

    // With one more file of a matching size, no file can be identified.
    const std::string size = slurp(run.swapFile(1, "0_0.tensor.swp"));
    spill(run.swapFile(1, "90_90.tensor.swp"), size);
    const CheckpointPtr unknown = run.open();
    CHECK(findingsOf(unknown, code::kSwapUnmapped).size()
        == 11); // the uncertain order of rank 0, ten sub-groups of rank 1
    CHECK(swappedRuns(*unknown) == 10 * 3);
    CHECK(isRefused(unknown, {std::string(code::kSwapUnmapped)}));
}

TEST_CASE("longer files are truncated, and files of other runs are recognised")
{
    const Run run;
    swapOut(run.tag(), {.subgroups = {0, 1}});
    const std::string id = swapIdOf(planSample("zero3-w4"), 1);
    std::ofstream(run.swapFile(2, "exp_avg-" + id + ".tensor.swp"), std::ios::app | std::ios::binary)
        << std::string(5000, 'x');
    spill(run.swapFile(1, "70_79.tensor.swp"), std::string(9000, 'y'));
    spill(run.swapFile(1, "exp_avg-70_79.tensor.swp"), std::string(9000, 'y'));
    spill(run.swapFile(3, id + "_gradient_0_512.tensor.swp"), std::string(2048, 'z'));
    const CheckpointPtr checkpoint = run.open();
    checkWhole(checkpoint);
    const auto stale = findingsOf(checkpoint, code::kStaleFile);
    REQUIRE(stale.size() == 1);
    CHECK(stale[0].where.text() == "offloaded_tensors/rank01");
    CHECK(stale[0].evidence == std::vector<std::string>{"70_79.tensor.swp", "exp_avg-70_79.tensor.swp"});
    size_t marked = 0;
    for (const CheckpointFile& file : checkpoint->files)
        marked += file.role == FileRole::Swap && file.status == FileStatus::Stale ? 1 : 0;
    CHECK(marked == 3);
}

TEST_CASE("missing, too short or wrong swap files are errors that name rank and sub-group")
{
    const std::string id = swapIdOf(planSample("zero3-w4"), 1);
    {
        const Run run;
        swapOut(run.tag(), {.subgroups = {0, 1}});
        fs::remove(run.swapFile(2, "exp_avg_sq-" + id + ".tensor.swp"));
        fs::resize_file(run.swapFile(3, id + ".tensor.swp"), 100);
        const CheckpointPtr checkpoint = run.open();
        const auto found = findingsOf(checkpoint, code::kSwapMissing);
        REQUIRE(found.size() == 2);
        CHECK(found[0].where.text() == "dp2.tp0.pp0/subgroup1+0:2816@exp_avg_sq");
        CHECK(found[0].message.find("missing: state `exp_avg_sq` of sub-group 1 on rank 2")
            != std::string::npos);
        CHECK(found[0].evidence.front() == "offloaded_tensors/rank02/exp_avg_sq-" + id + ".tensor.swp");
        CHECK(std::count_if(checkpoint->files.begin(), checkpoint->files.end(),
                  [&](const CheckpointFile& file) {
                      return file.status == FileStatus::Missing && file.name == found[0].evidence.front();
                  })
            == 1);
        CHECK(found[1].where.text() == "dp3.tp0.pp0/subgroup1+0:2816@fp32");
        CHECK(found[1].message.find("too short") != std::string::npos);
        CHECK(!checkpoint->complete);
        REQUIRE(!checkpoint->modelError); // the rest can be looked at
        CHECK(isRefused(checkpoint));
        CHECK(isRefused(checkpoint, {std::string(code::kSwapMissing)}));
    }
    {
        const Run run;
        swapOut(run.tag(), {.subgroups = {0, 1}});
        const auto moment = run.swapFile(0, "exp_avg-" + id + ".tensor.swp");
        const auto square = run.swapFile(0, "exp_avg_sq-" + id + ".tensor.swp");
        fs::rename(moment, run.path() / "aside");
        fs::rename(square, moment);
        fs::rename(run.path() / "aside", square);
        const auto found = findingsOf(run.open(), code::kSwapMismatch);
        REQUIRE(found.size() == 1);
        CHECK(found[0].where.text() == "dp0.tp0.pp0/subgroup1+0:2816@exp_avg_sq");
        CHECK(isRefused(run.open()));
    }
}

TEST_CASE("without swap files nothing is invented")
{
    for (const bool pipelined : {false, true}) {
        CAPTURE(pipelined);
        const Run run;
        swapOut(run.tag(), {.subgroups = {0, 1}, .pipelined = pipelined});
        fs::remove_all(run.tag() / "offloaded_tensors");
        const CheckpointPtr checkpoint = run.open();
        const auto missing = findingsOf(checkpoint, code::kSwapMissing);
        REQUIRE(missing.size() == 4);
        CHECK(missing[1].message == "there are no swap files for rank 1, which kept 2 sub-groups in them");
        CHECK(missing[1].evidence.front().find("--root") != std::string::npos);
        CHECK(swappedRuns(*checkpoint) == 0);
        CHECK(isRefused(checkpoint, {std::string(code::kSwapMissing)}));
    }
}

TEST_CASE("the run's own swap folder is used if the checkpoint has none, and only for the same step")
{
    const Run run;
    swapOut(run.tag(), {.subgroups = {0, 2}});
    const TemporaryFolder nvme(Where::Memory);
    makeLive(run.tag(), nvme.path());
    for (const auto& entry : fs::directory_iterator(run.tag()))
        fs::last_write_time(entry.path(), fs::file_time_type::clock::now() + std::chrono::hours(1));
    for (const fs::path& root : {nvme.path(), nvme / "zero_stage_3", nvme / "zero_stage_3/optimizer"})
        checkWhole(run.open({root}));
    {
        const TemporaryFolder folder(Where::Memory);
        checkSameState(rewrite(run.open({nvme.path()}), {.worldSize = 3}, folder.path()), sample());
    }
    fs::rename(nvme / "zero_stage_3", run.path() / "zero_stage_3");
    checkWhole(run.open()); // next to the tag

    // The run continued.
    const std::string id = swapIdOf(planSample("zero3-w4"), 2);
    const fs::path changed = run.path() / "zero_stage_3/optimizer/rank1" / (id + ".tensor.swp");
    fs::last_write_time(changed, fs::file_time_type::clock::now() + std::chrono::hours(2));
    const auto found = findingsOf(run.open(), code::kSwapMismatch);
    REQUIRE(found.size() == 1);
    CHECK(found[0].evidence.front().find("was written after") != std::string::npos);
    CHECK(isRefused(run.open()));
}

TEST_CASE("weights that the run swapped as well are compared with their masters")
{
    const Run run;
    swapOut(run.tag(), {.subgroups = {0, 2}});
    const TemporaryFolder nvme(Where::Memory);
    const CheckpointPtr swapped = run.open();
    const auto unit = std::find_if(
        swapped->units.begin(), swapped->units.end(), [](const FlatUnit& one) { return one.subgroup == 2u; });
    const FlatPiece first = *unit->partition.pieceAt(1, 0);
    const StoredRun& masters = unit->states.front().perRank[1];
    const std::string fp32 = slurp(swapped->file(masters.file).path).substr(0, first.elements * 4);
    std::string bf16; // cut, not rounded: within one unit in the last place
    for (size_t at = 0; at < fp32.size(); at += 4)
        bf16 += fp32.substr(at + 2, 2);
    makeLive(run.tag(), nvme.path());
    for (const auto& entry : fs::directory_iterator(run.tag()))
        fs::last_write_time(entry.path(), fs::file_time_type::clock::now() + std::chrono::hours(1));
    const std::string id = swapIdOf(planSample("zero3-w4"), 2);
    const fs::path folder = nvme / "zero_stage_3/bfloat16params/rank1";
    fs::create_directories(folder);
    const fs::path weights = folder / (id.substr(0, id.find('_')) + "_param.tensor.swp");
    spill(weights, bf16);
    checkWhole(run.open({nvme.path()}));
    spill(weights, std::string(bf16.size(), '\x3f'));
    const CheckpointPtr mixed = run.open({nvme.path()});
    const auto found = findingsOf(mixed, code::kSwapMismatch);
    REQUIRE(found.size() == 1);
    CHECK(found[0].evidence.front().starts_with("bfloat16params/rank1/"));
    CHECK(isRefused(mixed));
}

TEST_CASE("a swap folder that differs from what the checkpoint holds is of another step")
{
    const Run run;
    swapOut(run.tag(), {.subgroups = {0, 2}});
    const TemporaryFolder nvme(Where::Memory);
    fs::copy(run.tag(), nvme / "copy", fs::copy_options::recursive);
    makeLive(nvme / "copy", nvme.path());
    checkWhole(run.open({nvme.path()}));
    const std::string id = swapIdOf(planSample("zero3-w4"), 0);
    const fs::path live = nvme / "zero_stage_3/optimizer/rank3" / ("exp_avg-" + id + ".tensor.swp");
    std::string bytes = slurp(live);
    bytes[0] = static_cast<char>(bytes[0] ^ 1);
    spill(live, bytes);
    const CheckpointPtr mixed = run.open({nvme.path()});
    const auto found = findingsOf(mixed, code::kSwapMismatch);
    REQUIRE(found.size() == 1);
    CHECK(found[0].evidence.front()
        == "zero_stage_3/optimizer/rank3/exp_avg-" + id
            + ".tensor.swp is not offloaded_tensors/rank03/exp_avg-" + id + ".tensor.swp");
    CHECK(found[0].evidence.back().find("--allow swap-mismatch") != std::string::npos);
    CHECK(isRefused(mixed));
    checkWhole(run.open()); // alone the checkpoint is complete
    // With --allow the mixed values are used.
    CHECK(!isRefused(mixed, {std::string(code::kSwapMismatch)}));
}

TEST_CASE("marks of swapped tensors are ignored if the run does not swap")
{
    const Run run;
    swapOut(run.tag(), {.subgroups = {0, 1}, .pipelined = true, .device = "cpu"});
    fs::remove_all(run.tag() / "offloaded_tensors");
    const CheckpointPtr checkpoint = run.open();
    CHECK(checkpoint->complete);
    CHECK(findingsOf(checkpoint, code::kSwapMissing).empty());
}

TEST_CASE("left-over swap files of another run do not affect a checkpoint without swapped states")
{
    const Run run;
    spill(run.swapFile(0, "0_3.tensor.swp"), std::string(1 << 21, 'x'));
    spill(run.swapFile(0, "exp_avg-0_3.tensor.swp"), std::string(1 << 21, 'x'));
    const CheckpointPtr checkpoint = run.open();
    checkWhole(checkpoint);
    CHECK(swappedRuns(*checkpoint) == 0);
    CHECK(findingsOf(checkpoint, code::kStaleFile).size() == 1);
}

TEST_CASE("the first snapshot knows rank 0's swap files, and reports no other rank's as stale")
{
    const Run run;
    swapOut(run.tag(), {.subgroups = {0, 1}});
    JobContext job;
    OpenOptions options;
    options.depth = OpenDepth::Structure;
    const auto opened = openCheckpoint(io::realFileSystem(), run.path(), options, job);
    REQUIRE(opened.has_value());
    const Checkpoint& checkpoint = *opened->checkpoint;
    REQUIRE(!checkpoint.modelError);
    CHECK(swappedRuns(checkpoint) == 2 * 3);
    for (const Finding& finding : checkpoint.findings)
        CHECK_MESSAGE(finding.severity == Severity::Info, finding.message);
    for (const CheckpointFile& file : checkpoint.files)
        CHECK((file.role != FileRole::Swap || file.status == FileStatus::Ok));
}

TEST_CASE("hostile swap folders neither crash nor hang")
{
    const std::string id = swapIdOf(planSample("zero3-w4"), 0);
    const auto swapped = [&](const Run& run) { swapOut(run.tag(), {.subgroups = {0}}); };
    {
        const Run run; // a folder, a link to itself, a link to a device, in place of files
        swapped(run);
        for (uint32_t rank : {0u, 1u, 2u})
            fs::remove(run.swapFile(rank, id + ".tensor.swp"));
        fs::create_directory(run.swapFile(0, id + ".tensor.swp"));
        fs::create_symlink(run.swapFile(1, id + ".tensor.swp"), run.swapFile(1, id + ".tensor.swp"));
        fs::create_symlink("/dev/zero", run.swapFile(2, id + ".tensor.swp"));
        const CheckpointPtr checkpoint = run.open();
        CHECK(findingsOf(checkpoint, code::kSwapMissing).size() == 3);
        CHECK(isRefused(checkpoint));
    }
    {
        const Run run; // a file in place of the folder
        swapped(run);
        fs::remove_all(run.tag() / "offloaded_tensors");
        spill(run.tag() / "offloaded_tensors", "x");
        CHECK(findingsOf(run.open(), code::kSwapMissing).size() == 4);
    }
    {
        const Run run; // names that are not ids, numbers that match nothing, ranks outside the world
        swapOut(run.tag(), {.subgroups = {0}, .ids = false});
        for (const char* name : {".tensor.swp", "-.tensor.swp", "-1_2.tensor.swp", "1__2.tensor.swp",
                 "99999999999999999999999_1.tensor.swp", "_gradient_.tensor.swp", "exp_avg-.tensor.swp"})
            spill(run.swapFile(0, name), std::string(64, 'x'));
        fs::create_directories(run.tag() / "offloaded_tensors/rank4294967296");
        fs::create_directories(run.tag() / "offloaded_tensors/rank77");
        spill(run.tag() / "offloaded_tensors/rank77/0_1.tensor.swp", "x");
        checkWhole(run.open());
    }
}
