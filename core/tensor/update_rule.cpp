// SPDX-License-Identifier: Apache-2.0
#include "core/tensor/update_rule.h"

#include <cmath>

namespace shardscope {

namespace {

double withDecay(const UpdateRule& rule, double gradient, double weight)
{
    return rule.decoupledDecay ? gradient : gradient + rule.weightDecay * weight;
}

double decayed(const UpdateRule& rule, double weight)
{
    return rule.decoupledDecay ? rule.learningRate * rule.weightDecay * weight : 0;
}

void adam(const UpdateRule& rule, const UpdateInputs& in, double gradient, std::span<double> out)
{
    const double next = rule.step + 1;
    const double firstScale = rule.biasCorrection ? 1 - std::pow(rule.beta1, next) : 1;
    const double secondScale = rule.biasCorrection ? 1 - std::pow(rule.beta2, next) : 1;
    for (size_t i = 0; i < out.size(); ++i) {
        const double g = withDecay(rule, gradient, in.weights[i]);
        const double first = rule.beta1 * in.first[i] + (1 - rule.beta1) * g;
        const double second = rule.beta2 * in.second[i] + (1 - rule.beta2) * g * g;
        const double direction = first / firstScale / (std::sqrt(second / secondScale) + rule.epsilon);
        out[i] = rule.learningRate * direction + decayed(rule, in.weights[i]);
    }
}

void lion(const UpdateRule& rule, const UpdateInputs& in, double gradient, std::span<double> out)
{
    for (size_t i = 0; i < out.size(); ++i) {
        const double mixed = rule.beta1 * in.first[i] + (1 - rule.beta1) * gradient;
        const double sign = mixed > 0 ? 1 : mixed < 0 ? -1 : 0;
        out[i] = rule.learningRate * sign + decayed(rule, in.weights[i]);
    }
}

void sgd(const UpdateRule& rule, const UpdateInputs& in, double gradient, std::span<double> out)
{
    for (size_t i = 0; i < out.size(); ++i) {
        const double g = withDecay(rule, gradient, in.weights[i]);
        const double kept = in.first.empty() ? 0 : rule.beta1 * in.first[i];
        out[i] = rule.learningRate * (kept + g) + decayed(rule, in.weights[i]);
    }
}

void adagrad(const UpdateRule& rule, const UpdateInputs& in, double gradient, std::span<double> out)
{
    for (size_t i = 0; i < out.size(); ++i) {
        const double g = withDecay(rule, gradient, in.weights[i]);
        out[i] = rule.learningRate * g / (std::sqrt(in.second[i] + g * g) + rule.epsilon)
            + decayed(rule, in.weights[i]);
    }
}

} // namespace

void nextUpdates(const UpdateRule& rule, const UpdateInputs& inputs, double gradient, std::span<double> out)
{
    switch (rule.kind) {
    case UpdateKind::Adam:
        return adam(rule, inputs, gradient, out);
    case UpdateKind::Lion:
        return lion(rule, inputs, gradient, out);
    case UpdateKind::Sgd:
        return sgd(rule, inputs, gradient, out);
    case UpdateKind::Adagrad:
        return adagrad(rule, inputs, gradient, out);
    case UpdateKind::Unknown:
        return;
    }
}

bool keepsUpdates(const UpdateRule& rule)
{
    return rule.kind == UpdateKind::Adam || rule.kind == UpdateKind::Lion
        || (rule.kind == UpdateKind::Sgd && rule.beta1 != 0);
}

void lastUpdates(const UpdateRule& rule, const UpdateInputs& inputs, std::span<double> out)
{
    const bool corrects = rule.kind == UpdateKind::Adam && rule.biasCorrection && rule.step > 0;
    const double firstScale = corrects ? 1 - std::pow(rule.beta1, rule.step) : 1;
    const double secondScale = corrects ? 1 - std::pow(rule.beta2, rule.step) : 1;
    for (size_t i = 0; i < out.size(); ++i) {
        const double first = inputs.first[i];
        double direction = first;
        if (rule.kind == UpdateKind::Adam)
            direction = first / firstScale / (std::sqrt(inputs.second[i] / secondScale) + rule.epsilon);
        else if (rule.kind == UpdateKind::Lion)
            direction = first > 0 ? 1 : first < 0 ? -1 : 0;
        out[i] = rule.learningRate * direction;
    }
}

} // namespace shardscope
