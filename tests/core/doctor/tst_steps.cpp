// SPDX-License-Identifier: Apache-2.0
// Steps, schedules and scales that contradict each other in files that all ranks agree on.
#include "tests/support/damages.h"

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

TEST_CASE("a step that contradicts the counters")
{
    const Patchable copy("zero2-w2");
    copy.operateOnAll("optim_states.pt", [](Surgery& surgery) {
        for (const int group : {0, 1, 2})
            setStep(surgery, stateOf(group, "step"), 1);
    });
    const CheckResult result = copy.check();
    CHECK(troubles(result) == Codes{"step-off-counters"});
    const DoctorFinding& found = requireFinding(result, "step-off-counters");
    CHECK(found.finding.message == "the optimizer is at step 1, and the engine has taken 6");
}

TEST_CASE("numbers of findings have the digits that tell them apart, and no more")
{
    const Patchable late("zero2-w2");
    late.operateOnAll("optim_states.pt", [](Surgery& surgery) {
        for (const int group : {0, 1, 2})
            setStep(surgery, stateOf(group, "step"), 1'234'567);
    });
    const CheckResult ahead = late.check();
    CHECK(requireFinding(ahead, "step-off-counters").finding.message
        == "the optimizer is at step 1234567, and the engine has taken 6");

    const Patchable copy("zero2-w2");
    const auto rate = [&copy](const std::string& file, double value) {
        copy.operate(file, [value](Surgery& surgery) {
            surgery.set({"optimizer_state_dict", "base_optimizer_state", "param_groups", 1, "lr"},
                surgery.builder().real(value));
        });
    };
    const std::vector<std::string> shards = copy.filesLike("optim_states.pt");
    rate(shards[0], 0.0001234567);
    rate(shards[1], 0.0001);
    const CheckResult differ = copy.check();
    const std::string text = textOf(requireFinding(differ, "option-mismatch"));
    CAPTURE(text);
    const bool isFirst = text.find("`lr` of group1: 0.0001 here, 0.0001234567") != std::string::npos;
    const bool isSecond = text.find("`lr` of group1: 0.0001234567 here, 0.0001") != std::string::npos;
    CHECK((isFirst || isSecond)); // of two ranks either is the usual one
    CHECK(text.find("betas") == std::string::npos);

    rate(shards[1], 0.0001234567);
    const CheckResult set = copy.check();
    const std::string other = textOf(requireFinding(set, "schedule-discontinuity"));
    CAPTURE(other);
    CHECK(other.find("the group has 0.0001234567") != std::string::npos);
}

TEST_CASE("an optimizer that is ahead is an info")
{
    const Patchable copy("zero2-w2");
    copy.operateOnAll("optim_states.pt", [](Surgery& surgery) {
        for (const int group : {0, 1, 2})
            setStep(surgery, stateOf(group, "step"), 9);
    });
    const CheckResult result = copy.check();
    CHECK(troubles(result).empty());
    REQUIRE(findingOf(result, "step-off-counters") != nullptr);
}

TEST_CASE("skipped steps are not reported as missing")
{
    const Patchable copy("zero1-w2"); // seven steps, two of them skipped, five taken
    copy.operateOnAll(
        "model_states.pt", [](Surgery& surgery) { surgery.set({"skipped_steps"}, int64_t{0}); });
    CHECK(troubles(copy.check()) == Codes{"step-off-counters"});
}

TEST_CASE("moments without a step")
{
    const Patchable copy("zero2-w2");
    copy.operateOnAll("optim_states.pt", [](Surgery& surgery) {
        for (const int group : {0, 1, 2}) {
            Way state = kStates;
            state.emplace_back(group);
            surgery.remove(state, "step");
        }
    });
    const CheckResult result = copy.check();
    CHECK(troubles(result) == Codes{"step-off-counters"});
    const DoctorFinding& found = requireFinding(result, "step-off-counters");
    CHECK(found.finding.evidence == std::vector<std::string>{"group 0", "group 1", "group 2"});

    const Patchable universal("zero2-universal-w2", "global_step5_universal");
    for (const auto& entry : std::filesystem::recursive_directory_iterator(universal.tag() / "zero")) {
        if (entry.path().filename() == "step.pt")
            std::filesystem::remove(entry.path());
    }
    CHECK(troubles(universal.check()).contains("step-off-counters"));
}

TEST_CASE("param groups at different steps")
{
    const Patchable copy("zero2-w2");
    copy.operateOnAll("optim_states.pt", [](Surgery& surgery) { setStep(surgery, stateOf(2, "step"), 5); });
    const CheckResult result = copy.check();
    CHECK(troubles(result) == Codes{"step-off-counters"});
    const DoctorFinding& found = requireFinding(result, "step-off-counters");
    CHECK(found.finding.evidence == std::vector<std::string>{"group 2: 5", "group 0: 6"});
}

TEST_CASE("learning rates that the scheduler did not set")
{
    for (const char* sample : {"zero2-w2", "zero3-w4"}) {
        CAPTURE(sample);
        const Patchable copy(sample);
        const bool sliced = sample == std::string("zero3-w4");
        copy.operateOnAll("optim_states.pt", [&](Surgery& surgery) {
            surgery.set({"optimizer_state_dict", sliced ? "optimizer_state_dict" : "base_optimizer_state",
                            "param_groups", 1, "lr"},
                surgery.builder().real(0.5));
        });
        const CheckResult result = copy.check();
        CHECK(troubles(result) == Codes{"schedule-discontinuity"});
        const DoctorFinding& found = requireFinding(result, "schedule-discontinuity");
        CHECK(textOf(found).find("group 1: ") != std::string::npos);
        CHECK(textOf(found).find("the group has 0.5") != std::string::npos);
    }
    const Patchable whole("stage0-fp16");
    whole.operateOnAll("model_states.pt", [](Surgery& surgery) {
        surgery.set(
            {"optimizer", "optimizer_state_dict", "param_groups", 0, "lr"}, surgery.builder().real(1));
    });
    CHECK(troubles(whole.check()) == Codes{"schedule-discontinuity"});
}

TEST_CASE("a DeepSpeed scheduler that was reset")
{
    const Patchable copy("zero2-w2"); // at step 6
    const auto schedule = [&](int64_t last) {
        copy.operateOnAll("model_states.pt", [&](Surgery& surgery) {
            const NodeId state = surgery.builder().dict();
            surgery.builder().setItem(
                state, surgery.builder().string("last_batch_iteration"), surgery.builder().integer(last));
            surgery.set({"lr_scheduler"}, state);
        });
        return troubles(copy.check());
    };
    CHECK(schedule(5).empty());
    CHECK(schedule(0) == Codes{"schedule-discontinuity"});
    CHECK(schedule(11) == Codes{"schedule-discontinuity"}); // counted twice
}

TEST_CASE("a loss scale that has fallen as far as it can")
{
    const auto scaled = [](double scale, int64_t lastOverflow) {
        const Patchable copy("zero1-w2");
        copy.operateOnAll("optim_states.pt", [&](Surgery& surgery) {
            const auto scaler
                = asObject(surgery.graph(), surgery.at({"optimizer_state_dict", "loss_scaler"}));
            REQUIRE(scaler);
            const auto replace = [&](const char* key, NodeId value) {
                surgery.composer().substitute(lookup(surgery.graph(), scaler->attributes, key), value);
            };
            replace("cur_scale", surgery.builder().real(scale));
            replace("last_overflow_iter", surgery.builder().integer(lastOverflow));
        });
        return troubles(copy.check());
    };
    CHECK(scaled(1, 6) == Codes{"loss-scale-minimum"});
    CHECK(scaled(2, 6).empty());
    CHECK(scaled(1, -1).empty()); // where it began
}
