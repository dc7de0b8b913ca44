// SPDX-License-Identifier: Apache-2.0
// Oddities of files and folders whose content is whole: found on what stock DeepSpeed wrote, and gone from
// the copy.
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
void checkRepairs(const Patchable& hurt, const char* code, Severity severity)
{
    CAPTURE(code);
    const CheckResult before = hurt.check();
    const DoctorFinding* found = findingOf(before, code);
    REQUIRE(found != nullptr);
    CHECK(found->finding.severity == severity);
    CHECK(found->command.find("--fix " + std::string(code)) != std::string::npos);
    const TemporaryFolder folder(TemporaryFolder::Where::Memory);
    const Repaired repaired = repair(hurt, {.fixes = {code}}, folder / "repaired");
    CHECK(repaired.plan->marks().empty());
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
    const Patchable hurt("zero2-w2");
    spill(hurt.tag() / kShard, buildForeignArchive(foreignRecordsOf(hurt.tag() / kShard)));
    checkRepairs(hurt, "unaligned-payload", Severity::Warning);
}

TEST_CASE("records that nothing names stay behind")
{
    const Patchable hurt("zero2-w2");
    const auto records = foreignRecordsOf(hurt.tag() / kShard);
    const std::string prefix = records.front().name.substr(0, records.front().name.find('/'));
    NamedRecords all;
    for (const ForeignRecord& record : records)
        all.emplace_back(record.name.substr(prefix.size() + 1), record.payload);
    all.emplace_back("data/999", std::string(1000, 'u'));
    spill(hurt.tag() / kShard, buildTorchArchive(all, prefix));
    checkRepairs(hurt, "record-unused", Severity::Warning);
}

TEST_CASE("records that were saved without checksums get some")
{
    const Patchable hurt("zero2-w2");
    auto records = foreignRecordsOf(hurt.tag() / kShard);
    for (ForeignRecord& record : records)
        record.hasCrc = false;
    spill(hurt.tag() / kShard, buildForeignArchive(records));
    checkRepairs(hurt, "record-unchecked", Severity::Info);
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
        const fs::path target = folder / "joined";
        const Repaired repaired = repair(split, {.fixes = {"all", "split-shards"}}, target);
        CHECK(repaired.plan->marks().empty());
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
    for (const Finding& mark : repaired.plan->marks())
        CHECK(mark.where.starts_with("dp2."));
}

TEST_CASE("another run's whole tag beside this one is no part of the save, though it has the file")
{
    const Patchable hurt("zero2-w2");
    const fs::path other = hurt.run().parent_path() / "other" / hurt.tag().filename();
    fs::create_directories(other.parent_path());
    fs::copy(hurt.tag(), other);
    fs::remove(hurt.tag() / kShard);
    CHECK(findingOf(hurt.check(), "split-shards") == nullptr);
    for (const std::string& name : hurt.filesLike("optim_states.pt"))
        fs::remove(other / name); // what is left is what this one lacks
    CHECK(findingOf(hurt.check(), "split-shards") != nullptr);
}

TEST_CASE("files that this program made are no part of a save")
{
    const TemporaryFolder folder(TemporaryFolder::Where::Memory);
    const Patchable hurt("zero2-w2");
    fs::remove(hurt.tag() / kShard);
    repair(hurt, {.fixes = {"rank-missing"}}, hurt.run().parent_path() / "repaired");
    REQUIRE(fs::exists(hurt.run().parent_path() / "repaired" / hurt.tag().filename() / kShard));
    CHECK(findingOf(hurt.check(), "split-shards") == nullptr);
}
