// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/layout/finding_places.h"
#include "ui/models/parameters/parameter_index.h"

#include <QStringList>

#include <memory>
#include <stop_token>
#include <string>
#include <vector>

namespace shardscope::ui {

/// What the values of a tensor were found to be when all of them were read.
struct ReadTensor {
    ParamId param = kNoParam;
    std::string state;
    uint64_t elements = 0; ///< that were read
    uint64_t missing = 0; ///< that could not be
    uint64_t zeros = 0; ///< of either sign
    uint64_t nans = 0;
    uint64_t infinities = 0;
};

/// The tensors that were read so far. Immutable; thread-safe.
struct ReadValues {
    std::vector<ReadTensor> tensors;
    size_t all = 0; ///< tensors of the checkpoint
    [[nodiscard]] bool isWhole() const { return tensors.size() >= all; }
};
using ReadValuesPtr = std::shared_ptr<const ReadValues>;

/// What is known of a checkpoint's parameters besides their places: answers to the filter term `has:`.
/// Thread-safe.
struct ParamKnowledge {
    ReadValuesPtr values; ///< null: none were read
    FindingPlacesPtr findings; ///< of the index's checkpoint; null: not looked up yet

    /// One byte per parameter, 1 where it has one of `what`: nan, inf, zero, zeros (a tensor of nothing
    /// else), missing, finding. For values only in states with one of `states` in their names, if there are
    /// any. An alias has what its owner has.
    [[nodiscard]] std::vector<uint8_t> having(const ParameterIndex& index, const QStringList& what,
        const QStringList& states, const std::stop_token& token) const;
    /// Whether all of `what` is known of every parameter, so that one without it can be named.
    [[nodiscard]] bool knows(const QStringList& what) const;
};

} // namespace shardscope::ui
