// SPDX-License-Identifier: Apache-2.0
// Findings without a fix, or with a decision that only a person can make: each damage on a copy of what stock
// DeepSpeed wrote.
#include "core/checkpoint/open/open.h"
#include "core/engine/skeleton/skeleton.h"
#include "core/torchfile/skeleton/skeleton_files.h"
#include "tests/support/damages.h"
#include "tests/support/faulting_file_system.h"
#include "tests/support/torch_archive_builder.h"

#include <array>
#include <cerrno>

using namespace shardscope;
using namespace shardscope::test;
namespace fs = std::filesystem;

namespace {

const std::string kModel = "mp_rank_00_model_states.pt";
const std::string kShard = "bf16_zero_pp_rank_1_mp_rank_00_optim_states.pt";

/// No fix, and a reason.
void checkExplained(const CheckResult& result, const char* code, Severity severity)
{
    CAPTURE(code);
    const DoctorFinding& found = requireFinding(result, code);
    CHECK(found.finding.severity == severity);
    CHECK(!found.diagnosis->repairs);
    CHECK(found.diagnosis->remedy.empty() != found.diagnosis->noRemedy.empty());
    CHECK(found.command.find("repair") == std::string::npos);
}

} // namespace

TEST_CASE("E2: a pickle that would run code is an error, in any file of the tag")
{
    for (const std::string& name : {kModel, kShard}) {
        const Patchable damaged("zero2-w2");
        damaged.operate(name, [](Surgery& surgery) {
            PickleBuilder& builder = surgery.builder();
            const std::array arguments{builder.string("true")};
            surgery.add(
                {}, "later", builder.reduce(builder.global("os", "system"), builder.tuple(arguments)));
        });
        const CheckResult result = damaged.check();
        checkExplained(result, "pickle-dangerous", Severity::Error);
        CHECK(findingOf(result, "pickle-dangerous")->finding.where.text().starts_with(name));
        CHECK(textOf(*findingOf(result, "pickle-dangerous")).find("os.system") != std::string::npos);
    }
}

TEST_CASE("E2: a record that claims to be a link is reported, and read as a record")
{
    const Patchable damaged("zero2-w2");
    auto records = foreignRecordsOf(damaged.tag() / kShard);
    constexpr uint32_t kLink = 0xA1FFU << 16;
    records.back().externalAttributes = kLink;
    spill(damaged.tag() / kShard, buildForeignArchive(records));
    checkExplained(damaged.check(), "file-hostile", Severity::Warning);
}

TEST_CASE("a shard that cannot be read is an error")
{
    const Patchable damaged("zero2-w2");
    fs::remove(damaged.tag() / kShard);
    fs::create_symlink(kShard, damaged.tag() / kShard); // to itself
    const CheckResult result = damaged.check();
    checkExplained(result, "file-unreadable", Severity::Error);
}

TEST_CASE("L2: a pointer to a tag that is not there")
{
    const Patchable damaged("zero2-w2");
    spill(damaged.run() / "latest", "global_step99");
    JobContext job;
    const auto result = examine(io::realFileSystem(), damaged.run(), {}, job);
    REQUIRE(result);
    const DoctorFinding& found = requireFinding(*result, "latest-dangling");
    CHECK(found.finding.severity == Severity::Error);
    CHECK(found.diagnosis->repairs);
}

TEST_CASE("a release of DeepSpeed that was not tested is a warning, and nothing else")
{
    const Patchable newer("zero2-w2");
    newer.operateOnAll("_states.pt",
        [](Surgery& surgery) { surgery.set({"ds_version"}, surgery.builder().string("99.0.0+git")); });
    const CheckResult result = newer.check();
    checkExplained(result, "newer-release", Severity::Warning);
    CHECK(troubles(result) == std::set<std::string>{"newer-release"});
}

TEST_CASE("a sub-group size that the sub-groups on disk contradict is reported")
{
    const Patchable damaged("zero3-w4");
    damaged.operateOnAll("model_states.pt", [](Surgery& surgery) {
        surgery.set({"ds_config", "zero_optimization", "sub_group_size"}, 77);
    });
    const CheckResult result = damaged.check();
    checkExplained(result, "sub-group-size", Severity::Warning);
    CHECK(textOf(*findingOf(result, "sub-group-size")).find("77") != std::string::npos);
}

TEST_CASE("a skeleton says that it has no values")
{
    const TemporaryFolder folder;
    const Patchable sample("zero2-w2");
    JobContext job;
    const auto opened = openCheckpoint(io::realFileSystem(), sample.run(), {}, job);
    REQUIRE(opened);
    SkeletonRequest request;
    request.asked = sample.run();
    request.out = folder / "bones.zip";
    request.checkJson = "{}";
    REQUIRE(writeSkeleton(io::realFileSystem(), *opened->checkpoint, request, job));
    SkeletonFiles files(io::realFileSystem());
    const auto result = examine(files, request.out, {}, job);
    REQUIRE_MESSAGE(result.has_value(), (result ? "" : describe(result.error())));
    checkExplained(*result, "skeleton", Severity::Info);
    CHECK(troubles(*result).empty());
}

TEST_CASE("a diagnosis that cannot run says so, and the others continue")
{
    const Patchable sample("zero3-w4");
    fs::remove(sample.tag() / "bf16_zero_pp_rank_1_mp_rank_00_optim_states.pt");
    CheckOptions options;
    options.jobs = 1;
    JobContext job;
    io::FaultingFileSystem counting(io::realFileSystem());
    REQUIRE(examine(counting, sample.run(), options, job));
    std::set<std::string> withheld;
    for (uint64_t call = 1; call <= counting.callsSoFar(); ++call) {
        io::FaultingFileSystem broken(io::realFileSystem(), {.callNumber = call, .errnoValue = EIO});
        CHECK(!examine(broken, sample.run(), options, job)); // no verdict
        io::FaultingFileSystem failing(io::realFileSystem(), {.callNumber = call, .errnoValue = EACCES});
        const auto result = examine(failing, sample.run(), options, job);
        const DoctorFinding* found = result ? findingOf(*result, "not-examined") : nullptr;
        if (found == nullptr)
            continue;
        CHECK(found->finding.severity == Severity::Warning);
        CHECK(!found->diagnosis->noRemedy.empty());
        CHECK(findingOf(*result, "rank-missing") != nullptr);
        withheld.insert(textOf(*found));
    }
    CAPTURE(withheld);
    CHECK(!withheld.empty());
}
