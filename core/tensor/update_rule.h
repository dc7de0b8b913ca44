// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

namespace shardscope {

/// How an optimizer makes a step from what it keeps of one element. Sources: torch/optim (adam, adamw, sgd,
/// adagrad), deepspeed/ops (adam, lion).
enum class UpdateKind {
    Unknown,
    Adam, ///< first and second moment
    Lion, ///< first moment
    Sgd, ///< momentum buffer, or nothing
    Adagrad, ///< sum of squares, as the second moment
};

/// The options that count for the next step of a param group.
struct UpdateRule {
    UpdateKind kind = UpdateKind::Unknown;
    double learningRate = 0;
    double beta1 = 0; ///< SGD: momentum
    double beta2 = 0;
    double epsilon = 0;
    double weightDecay = 0;
    bool decoupledDecay = true; ///< on the weight (AdamW, Lion), else on the gradient
    bool biasCorrection = true;
    double step = 0; ///< steps that were made

    bool operator==(const UpdateRule&) const = default;
};

/// The optimizer's states of some elements. Moments that the rule does not use may be empty.
struct UpdateInputs {
    std::span<const double> weights;
    std::span<const double> first;
    std::span<const double> second;
};

/// The next step's update of every element, to be subtracted from its weight, if the gradient were `gradient`
/// everywhere. The rule's kind is known; all spans that it uses and `out` are of one size.
void nextUpdates(const UpdateRule& rule, const UpdateInputs& inputs, double gradient, std::span<double> out);

/// Whether the states that a step leaves behind give the update that it made: Adam, Lion, SGD with momentum.
[[nodiscard]] bool keepsUpdates(const UpdateRule& rule);

/// The update of the last step, without weight decay, of every element: Adam lr·m̂/(√v̂ + ε); SGD lr·buffer;
/// Lion lr·sign(moment), because the sum whose sign it took is not kept. keepsUpdates(rule) must hold; the
/// rest as above.
void lastUpdates(const UpdateRule& rule, const UpdateInputs& inputs, std::span<double> out);

} // namespace shardscope
