// SPDX-License-Identifier: Apache-2.0
// Steps, schedules and scales that contradict each other in files that all ranks agree on.
#include "tests/support/wounds.h"

#include <doctest/doctest.h>

#include <cstring>

using namespace shardscope;
using namespace shardscope::test;
using Codes = std::set<std::string>;

namespace {

/// A float tensor of one element.
void setStep(Surgery& surgery, const Way& tensor, float value)
{
    surgery.editTensor(tensor, [&](std::string& elements) {
        REQUIRE(elements.size() == sizeof value);
        std::memcpy(elements.data(), &value, sizeof value);
    });
}

const Way kStates{"optimizer_state_dict", "base_optimizer_state", "state"};

Way stateOf(int group, const char* key)
{
    Way way = kStates;
    way.emplace_back(group);
    way.emplace_back(key);
    return way;
}

} // namespace

TEST_CASE("a step that the counters cannot have led to")
{
    const Patchable copy("zero2-w2");
    copy.operateOnAll("optim_states.pt", [](Surgery& surgery) {
        for (const int group : {0, 1, 2})
            setStep(surgery, stateOf(group, "step"), 1);
    });
    const CheckResult result = copy.check();
    CHECK(troubles(result) == Codes{"step-off-counters"});
    const DoctorFinding* found = findingOf(result, "step-off-counters");
    REQUIRE(found != nullptr);
    CHECK(found->finding.message == "the optimizer is at step 1, and the engine has taken 6");
}

TEST_CASE("steps that were skipped are not missed")
{
    const Patchable copy("zero1-w2"); // seven steps, two of them skipped, five taken
    copy.operateOnAll(
        "model_states.pt", [](Surgery& surgery) { surgery.set({"skipped_steps"}, int64_t{0}); });
    CHECK(troubles(copy.check()) == Codes{"step-off-counters"});
}

TEST_CASE("param groups at different steps")
{
    const Patchable copy("zero2-w2");
    copy.operateOnAll("optim_states.pt", [](Surgery& surgery) { setStep(surgery, stateOf(2, "step"), 5); });
    const CheckResult result = copy.check();
    CHECK(troubles(result) == Codes{"step-off-counters"});
    const DoctorFinding* found = findingOf(result, "step-off-counters");
    REQUIRE(found != nullptr);
    CHECK(found->finding.evidence == std::vector<std::string>{"group 2: 5", "group 0: 6"});
}
