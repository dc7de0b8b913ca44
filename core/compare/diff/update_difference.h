// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/tensor/comparison.h"
#include "core/tensor/update_rule.h"

#include <vector>

namespace shardscope {

/// The elements of one side that its rule needs, as numbers. Empty if the optimizer has no such state.
struct StepInputs {
    std::vector<double> weights;
    std::vector<double> first;
    std::vector<double> second;
    UpdateRule rule;
};

/// The names of the states used as the first and second moment of a rule; empty for none.
struct MomentNames {
    std::string_view first;
    std::string_view second;
};
MomentNames momentNames(UpdateKind kind);

/// The comparison of next steps: one without gradient, one with gradient 1.
struct StepComparison {
    Comparison withoutGradient;
    Comparison withUnitGradient;

    StepComparison& operator+=(const StepComparison& further);
};
StepComparison compareSteps(const StepInputs& left, const StepInputs& right);

} // namespace shardscope
