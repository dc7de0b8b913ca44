// SPDX-License-Identifier: Apache-2.0
// Every file of every sample, missing or truncated, rebuilt from the sample itself: the same state, or a
// refusal that says why.
#include "tests/core/plan/repair/repair_fixture.h"

using namespace shardscope;
using namespace shardscope::test;
namespace fs = std::filesystem;

namespace {

/// Samples with files that can all be rebuilt.
const std::set<std::string> kAllRepaired{"aligned-w2", "bf16opt-w2", "ds0135-zero2-w3", "ds0144-bf16opt-w2",
    "ds0144-zero2-w2", "ds0144-zero3-w3", "ds0510-zero2-w3", "ds053-zero3-w3", "ds067-zero1-w2", "muon-w3",
    "roundrobin-w3", "zero1-w2", "zero2-w2", "zero3-w4"};

struct Outcome {
    size_t repaired = 0;
    size_t refused = 0;
};

void repairOrRefuse(
    const std::string& sample, const Patchable& damaged, const CheckpointPtr& whole, Outcome& outcome)
{
    const TemporaryFolder folder(TemporaryFolder::Where::Memory);
    RepairOptions options;
    options.fixes = {"all"};
    options.donor = whole->tagFolder.string();
    options.masters = RepairOptions::Masters::Donor;
    options.moments = RepairOptions::Moments::Donor;
    JobContext job;
    OpenOptions open;
    open.tag = damaged.tag().filename().string();
    const auto plan = planRepair(io::realFileSystem(), damaged.run(), open, options, job);
    if (!plan) {
        ++outcome.refused;
        CAPTURE(describe(plan.error()));
        CHECK(!kAllRepaired.contains(sample));
        static const std::set<ErrorCode> kNamed{ErrorCode::Unsupported, ErrorCode::Refused,
            ErrorCode::Damaged, ErrorCode::NotFound, ErrorCode::NotACheckpoint};
        CHECK(kNamed.contains(plan.error().code));
        return;
    }
    ++outcome.repaired;
    const Repaired repaired = repair(damaged, options, folder / "repaired", open);
    checkSameState(repaired.copy, whole);
}

} // namespace

TEST_CASE("a missing, truncated or empty file is rebuilt, or refused by name")
{
    Outcome outcome;
    for (const std::string& sample : allSamples()) {
        const size_t colon = sample.find(':');
        const std::string of = sample.substr(0, colon);
        const std::string tag = sample.substr(colon + 1);
        const Patchable sound(of, tag);
        const CheckpointPtr whole = openForPlan(sound.tag());
        for (const std::string& name : sound.filesLike("states.pt")) {
            CAPTURE(sample);
            CAPTURE(name);
            const uint64_t bytes = fs::file_size(sound.tag() / name);
            for (const uint64_t left : {bytes / 2, uint64_t{0}}) {
                CAPTURE(left);
                const Patchable damaged(of, tag);
                fs::resize_file(damaged.tag() / name, left);
                repairOrRefuse(of, damaged, whole, outcome);
            }
            const Patchable damaged(of, tag);
            fs::remove(damaged.tag() / name);
            repairOrRefuse(of, damaged, whole, outcome);
        }
    }
    MESSAGE(outcome.repaired << " rebuilt, " << outcome.refused << " refused");
    CHECK(outcome.repaired >= 330); // slices without ZeRO are refused
}
