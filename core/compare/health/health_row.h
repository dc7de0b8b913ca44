// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/string_hash.h"
#include "core/tensor/update_rule.h"

#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace shardscope {

/// Whether a state is the weights themselves: masters, or what there is without them.
inline bool isWeightState(std::string_view state)
{
    return state == "fp32" || state == "weight";
}

/// One state of one parameter, or of all parameters of a layer that have it.
struct StateHealth {
    std::string state;
    uint64_t read = 0; ///< elements that were read
    uint64_t missing = 0; ///< of those asked for, elements that could not be read
    uint64_t zeros = 0; ///< of those read
    uint64_t nans = 0;
    uint64_t infinities = 0;
    double min = std::numeric_limits<double>::infinity(); ///< of the finite elements read
    double max = -std::numeric_limits<double>::infinity();
    // Of the finite elements. For a sample: scaled to all elements of its tensor.
    double count = 0;
    double squares = 0; ///< Σ x²
    double magnitudes = 0; ///< Σ |x|

    [[nodiscard]] double rms() const; ///< NaN where nothing is finite
    [[nodiscard]] double l2() const;
    [[nodiscard]] bool isFinite() const { return nans == 0 && infinities == 0; }
    StateHealth& operator+=(const StateHealth& further);
};

/// Why the update of the last step is not known.
enum class NoUpdate : uint8_t {
    Known, ///< it is
    Frozen, ///< no optimizer has the parameter
    UnknownRule, ///< of an optimizer whose rule, or options, this program does not know
    NotKept, ///< the optimizer's states do not keep it: SGD without momentum, Adagrad
    NoMoments, ///< before the first step, or the moments cannot be read
};
/// In words, for people; empty for Known.
std::string_view noUpdateText(NoUpdate why);

/// One parameter, or all parameters of a layer.
struct HealthRow {
    std::string name;
    uint64_t parameters = 0;
    uint64_t elements = 0;
    bool exact = true; ///< false: large tensors were sampled
    std::vector<StateHealth> states; ///< weights ("fp32" or "weight") first, then the optimizer's
    // The update of the last step, without weight decay, over the elements whose update is known. Scaled as
    // above.
    double updated = 0; ///< number of these elements
    double updateSquares = 0;
    double weightSquares = 0; ///< Σ w² of the same elements
    NoUpdate noUpdate = NoUpdate::Known; ///< with updated = 0: why
    /// Of its param group: the highest, if it has parameters of several.
    UpdateRule rule;
    /// Steps that its moments were updated for, as the optimizer keeps it; the lowest and highest.
    std::optional<double> firstStep;
    std::optional<double> lastStep;
    uint64_t shape = 0; ///< a digest of the names and shapes of its parameters, without the layer's number

    [[nodiscard]] const StateHealth* find(std::string_view state) const;
    /// Weights of all parameters: masters, where there are.
    [[nodiscard]] StateHealth weights() const;
    [[nodiscard]] double updateRms() const; ///< NaN if not known
    [[nodiscard]] double updateRatio() const; ///< rms of the update by that of the weights; NaN if not known
    [[nodiscard]] uint64_t missing() const;
    HealthRow& operator+=(const HealthRow& further);
};

/// The layer that a parameter belongs to: its name up to the first number ("model.layers.3"), else the module
/// that has it ("model.embed_tokens").
std::string healthLayerOf(std::string_view param);

/// Adds rows of parameters up, by layer, in the order of the layers' first parameters.
class HealthLayers
{
public:
    void add(const HealthRow& param);
    [[nodiscard]] const std::vector<HealthRow>& rows() const { return m_rows; }
    [[nodiscard]] std::vector<HealthRow> take() { return std::move(m_rows); }

private:
    std::vector<HealthRow> m_rows;
    StringMap<size_t> m_byName;
};

} // namespace shardscope
