// SPDX-License-Identifier: Apache-2.0
#include "core/compare/diff/update_difference.h"

namespace shardscope {

namespace {

std::vector<double> stepOf(const StepInputs& side, double gradient)
{
    std::vector<double> out(side.weights.size());
    nextUpdates(side.rule, {side.weights, side.first, side.second}, gradient, out);
    return out;
}

std::span<const uint8_t> bytesOf(const std::vector<double>& values)
{
    return {reinterpret_cast<const uint8_t*>(values.data()), values.size() * sizeof(double)};
}

Comparison compared(const StepInputs& left, const StepInputs& right, double gradient)
{
    const std::vector<double> one = stepOf(left, gradient);
    const std::vector<double> other = stepOf(right, gradient);
    return plainComparison({DType::Float64, bytesOf(one)}, {DType::Float64, bytesOf(other)}, 0, {});
}

} // namespace

MomentNames momentNames(UpdateKind kind)
{
    switch (kind) {
    case UpdateKind::Adam:
        return {"exp_avg", "exp_avg_sq"};
    case UpdateKind::Lion:
        return {"exp_avg", ""};
    case UpdateKind::Sgd:
        return {"momentum_buffer", ""};
    case UpdateKind::Adagrad:
        return {"", "sum"};
    case UpdateKind::Unknown:
        break;
    }
    return {};
}

StepComparison& StepComparison::operator+=(const StepComparison& further)
{
    withoutGradient += further.withoutGradient;
    withUnitGradient += further.withUnitGradient;
    return *this;
}

StepComparison compareSteps(const StepInputs& left, const StepInputs& right)
{
    return {compared(left, right, 0), compared(left, right, 1)};
}

} // namespace shardscope
