// SPDX-License-Identifier: Apache-2.0
// Unusual files and folders with complete content: found in stock DeepSpeed's output, and no longer in the
// copy.
#include "core/torchfile/torch_file.h"
#include "tests/core/plan/repair/repair_fixture.h"
#include "tests/support/torch_archive_builder.h"

#include <map>

using namespace shardscope;
using namespace shardscope::test;
namespace fs = std::filesystem;

namespace {

const std::string kShard = "bf16_zero_pp_rank_1_mp_rank_00_optim_states.pt";

/// A fix without loss: found, then not, in a copy of the same state in which nothing is marked.
void checkRepairs(const Patchable& damaged, const char* code, Severity severity)
{
    CAPTURE(code);
    const CheckResult before = damaged.check();
    const DoctorFinding* found = findingOf(before, code);
    REQUIRE(found != nullptr);
    CHECK(found->finding.severity == severity);
    CHECK(found->command.find("--fix " + std::string(code)) != std::string::npos);
    const TemporaryFolder folder(TemporaryFolder::Where::Memory);
    const Repaired repaired = repair(damaged, {.fixes = {code}}, folder / "repaired");
    CHECK(repaired.plan->marks.empty());
    checkSameState(repaired.copy, openForPlan(planSample("zero2-w2")));
    JobContext job;
    const auto after = examine(io::realFileSystem(), folder / "repaired", {}, job);
    REQUIRE(after);
    CHECK(findingOf(*after, code) == nullptr);
    CHECK(troubles(*after).empty());
}

} // namespace

TEST_CASE("payloads that another program packed are aligned again")
{
    const Patchable damaged("zero2-w2");
    spill(damaged.tag() / kShard, buildForeignArchive(foreignRecordsOf(damaged.tag() / kShard)));
    checkRepairs(damaged, "unaligned-payload", Severity::Warning);
}

TEST_CASE("unreferenced records are not copied")
{
    const Patchable damaged("zero2-w2");
    const auto records = foreignRecordsOf(damaged.tag() / kShard);
    const std::string prefix = records.front().name.substr(0, records.front().name.find('/'));
    NamedRecords all;
    for (const ForeignRecord& record : records)
        all.emplace_back(record.name.substr(prefix.size() + 1), record.payload);
    all.emplace_back("data/999", std::string(1000, 'u'));
    spill(damaged.tag() / kShard, buildTorchArchive(all, prefix));
    checkRepairs(damaged, "record-unused", Severity::Warning);
}

TEST_CASE("records that were saved without checksums get some")
{
    const Patchable damaged("zero2-w2");
    auto records = foreignRecordsOf(damaged.tag() / kShard);
    for (ForeignRecord& record : records)
        record.hasCrc = false;
    spill(damaged.tag() / kShard, buildForeignArchive(records));
    checkRepairs(damaged, "record-unchecked", Severity::Info);
}

TEST_CASE("one save in several folders is merged into one, with unchanged files")
{
    for (const std::string sample : {"zero2-w2", "zero3-w4", "slices-w4"}) {
        CAPTURE(sample);
        const TemporaryFolder folder(TemporaryFolder::Where::Memory);
        const Patchable split(sample);
        std::map<std::string, std::string> whole;
        for (const std::string& name : split.filesLike(".pt"))
            whole[name] = slurp(split.tag() / name);
        int number = 0;
        for (const std::string& name : split.filesLike("optim_states.pt")) {
            const fs::path other = split.run() / ("tmp-node-" + std::to_string(number));
            if (number++ == 0)
                continue;
            fs::create_directories(other);
            fs::rename(split.tag() / name, other / name);
        }
        CHECK(troubles(split.check()).contains("split-shards"));
        const Error error = refusalOf(split, {.fixes = {"all"}}); // or it would be rebuilt
        CHECK(error.code == ErrorCode::Refused);
        CHECK(error.path.find("tmp-node-1") != std::string::npos);
        const fs::path target = folder / "merged";
        const Repaired repaired = repair(split, {.fixes = {"all", "split-shards"}}, target);
        CHECK(repaired.plan->marks.empty());
        checkSameState(repaired.copy, openForPlan(planSample(sample.c_str())));
        CHECK(troublesOf(target, CheckDepth::Bytes).empty());
        for (const auto& [name, bytes] : whole)
            CHECK_MESSAGE(slurp(target / split.tag().filename() / name) == bytes, name);
    }
}

TEST_CASE("parts that no folder holds are refilled after merging")
{
    const TemporaryFolder folder(TemporaryFolder::Where::Memory);
    const Patchable split("zero3-w4");
    const auto shards = split.filesLike("optim_states.pt");
    fs::create_directories(split.run() / "tmp-node");
    fs::rename(split.tag() / shards[1], split.run() / "tmp-node" / shards[1]);
    fs::remove(split.tag() / shards[2]);
    ReshardOptions other;
    other.worldSize = 3;
    const CheckpointPtr sample = openForPlan(planSample("zero3-w4"));
    rewrite(sample, other, folder / "donor");
    RepairOptions options{.fixes = {"L4"}, .donor = (folder / "donor").string()};
    CHECK(refusalOf(split, options).code == ErrorCode::Refused);
    options.fixes = {"L4", "L6"};
    options.masters = RepairOptions::Masters::Donor;
    const Repaired repaired = repair(split, options, folder / "repaired");
    checkSameState(repaired.copy, sample);
    for (const Finding& mark : repaired.plan->marks)
        CHECK(mark.where.text().starts_with("dp2."));
}

TEST_CASE("another run's complete tag next to this one is not part of the save, although it has the file")
{
    const Patchable damaged("zero2-w2");
    const fs::path other = damaged.run().parent_path() / "other" / damaged.tag().filename();
    fs::create_directories(other.parent_path());
    fs::copy(damaged.tag(), other);
    fs::remove(damaged.tag() / kShard);
    CHECK(findingOf(damaged.check(), "split-shards") == nullptr);
    for (const std::string& name : damaged.filesLike("optim_states.pt"))
        fs::remove(other / name); // what is left is what this one lacks
    CHECK(findingOf(damaged.check(), "split-shards") != nullptr);
}

TEST_CASE("files that this program wrote are not part of a save")
{
    const TemporaryFolder folder(TemporaryFolder::Where::Memory);
    const Patchable damaged("zero2-w2");
    fs::remove(damaged.tag() / kShard);
    repair(damaged, {.fixes = {"rank-missing"}}, damaged.run().parent_path() / "repaired");
    REQUIRE(fs::exists(damaged.run().parent_path() / "repaired" / damaged.tag().filename() / kShard));
    CHECK(findingOf(damaged.check(), "split-shards") == nullptr);
}
