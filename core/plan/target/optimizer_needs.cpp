// SPDX-License-Identifier: Apache-2.0
#include "core/plan/target/optimizer_needs.h"

#include <algorithm>
#include <set>

namespace shardscope {

namespace {

using Names = std::set<std::string_view>;

OptimizerNeeds adamNeeds(const FlatUnit& unit, const Names& states, bool stepInGroup)
{
    OptimizerNeeds out{"Adam or AdamW of torch", {"lr", "betas", "eps", "weight_decay"}, {}};
    const bool apex = unit.stepForm == StepForm::Absent && stepInGroup; // keeps it nowhere else
    if (unit.stepForm == StepForm::Integer || apex) {
        out.optimizer = stepInGroup ? "FusedAdam" : "DeepSpeedCPUAdam";
        out.keys.emplace_back("bias_correction");
        if (!stepInGroup)
            out.implied.emplace_back("amsgrad", false); // it never computes that variant
    } else {
        out.implied.emplace_back("amsgrad", states.contains("max_exp_avg_sq"));
    }
    return out;
}

} // namespace

OptimizerNeeds optimizerNeeds(const FlatUnit& unit, bool stepInGroup)
{
    Names states;
    for (size_t i = 1; i < unit.states.size(); ++i)
        states.insert(unit.states[i].name);
    const auto are = [&](const Names& names) { return states == names; };
    if (are({"exp_avg", "exp_avg_sq"}) || are({"exp_avg", "exp_avg_sq", "max_exp_avg_sq"}))
        return adamNeeds(unit, states, stepInGroup);
    if (are({"exp_avg"}))
        return {"Lion", {"lr", "betas", "weight_decay"}, {}};
    if (are({"momentum_buffer"}))
        return {"SGD of torch", {"lr", "momentum", "dampening", "weight_decay", "nesterov"}, {}};
    if (are({"sum"}))
        return {
            "Adagrad of torch", {"lr", "lr_decay", "eps", "weight_decay", "initial_accumulator_value"}, {}};
    if (are({"exp_avg_sq"}))
        return {"DeepSpeedCPUAdagrad", {"lr", "eps", "weight_decay"}, {}};
    if (states.contains("square_avg"))
        return {"RMSprop of torch", {"lr", "momentum", "alpha", "eps", "weight_decay"},
            {{"centered", states.contains("grad_avg")}}};
    return {{}, {"lr"}, {}};
}

} // namespace shardscope
