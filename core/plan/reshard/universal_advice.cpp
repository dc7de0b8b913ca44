// SPDX-License-Identifier: Apache-2.0
#include "core/base/finding_codes.h"
#include "core/checkpoint/model/muon.h"
#include "core/plan/reshard/reshard_advice.h"

#include <algorithm>

namespace shardscope {

namespace {

bool hasTwoMoments(const FlatUnit& unit)
{
    const auto has = [&](std::string_view name) {
        return std::any_of(unit.states.begin(), unit.states.end(),
            [&](const UnitState& state) { return state.name == name; });
    };
    return unit.states.size() == 3 && has("exp_avg") && has("exp_avg_sq");
}

std::string join(const std::vector<std::string>& names)
{
    std::string out;
    for (const std::string& name : names)
        out += (out.empty() ? "`" : ", `") + name + "`";
    return out;
}

/// What DeepSpeed's own universal loader (runtime/zero/stage3.py, runtime/base_optimizer.py) leaves out or
/// changes, as sentences.
std::vector<std::string> stockLosses(const Checkpoint& source)
{
    std::vector<std::string> out;
    if (source.groups.size() > 1)
        out.emplace_back("stage 3 gives every param group the options of group 0");
    const bool moments = std::all_of(source.units.begin(), source.units.end(),
        [](const FlatUnit& unit) { return unit.kind == UnitKind::Frozen || hasTwoMoments(unit); });
    if (!moments)
        out.emplace_back("stage 3 loads only optimizers with exactly `exp_avg` and `exp_avg_sq`");
    const bool steps = std::all_of(source.units.begin(), source.units.end(), [](const FlatUnit& unit) {
        return unit.kind == UnitKind::Frozen || unit.stepForm != StepForm::Absent;
    });
    if (!steps)
        out.emplace_back("stage 3 stops where the optimizer keeps no step per state");
    const bool tensors = std::any_of(source.units.begin(), source.units.end(),
        [](const FlatUnit& unit) { return unit.stepForm == StepForm::Tensor; });
    if (tensors)
        out.emplace_back("stage 3 shares one step tensor among all sub-groups, so with several sub-groups it "
                         "advances once for each");
    if (std::any_of(source.groups.begin(), source.groups.end(),
            [&](const ParamGroup& group) { return isMuonGroup(source, group); }))
        out.emplace_back("stages 1 and 2 stop in their first step with Muon, unless the optimizer is "
                         "offloaded to the CPU");
    std::vector<std::string> lost;
    for (const Parameter& param : source.params) {
        if (param.role != ParamRole::Trainable && param.elements > 0 && lost.size() < 3)
            lost.push_back(param.name);
    }
    if (!lost.empty())
        out.emplace_back("no stage restores frozen parameters and buffers (" + join(lost) + ", …)");
    return out;
}

} // namespace

void addUniversalWarnings(const Checkpoint& source, CheckpointKind target, std::vector<Finding>& out)
{
    const bool toUniversal = isUniversal(target);
    if (!toUniversal && !isUniversal(source.kind))
        return;
    for (const std::string& loss : stockLosses(source))
        out.push_back({code::kStockLoaderTrap, toUniversal ? Severity::Warning : Severity::Info,
            toUniversal ? "when stock DeepSpeed loads it, " + loss + "; `shardscope reshard` restores it"
                        : "a stock load of the universal folder would have lost this: " + loss,
            {}, {}});
}

} // namespace shardscope
