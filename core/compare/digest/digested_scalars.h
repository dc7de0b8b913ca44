// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/compare/digest/scaler_texts.h"
#include "core/tensor/element_digest.h"

#include <string>
#include <string_view>
#include <vector>

namespace shardscope {

/// A part of the training state that is no tensor: "group/0" "option/lr", "scaler" "cur_scale", …
/// state_digest.h tells which there are, and what their texts are.
struct DigestedScalar {
    std::string name;
    std::string state;
    std::string text;
    Digest digest; ///< digestText() of the three
    std::string_view lacks; ///< what of the value is not in `text`; empty: nothing

    bool operator==(const DigestedScalar&) const = default;
};

/// Steps and options of the param groups, without digests, also of an optimizer file whose elements are from
/// another step or run.
std::vector<DigestedScalar> groupScalars(const Checkpoint& checkpoint);
/// Whose files tell: rank 0's optimizer file has groups and scaler, its model file the scheduler. Only what
/// is readable is there.
std::vector<DigestedScalar> digestedScalars(const Checkpoint& checkpoint);
/// The same with another form of the loss scaler: what one kind of checkpoint keeps, another may not.
std::vector<DigestedScalar> digestedScalars(const Checkpoint& checkpoint, const ScalerTexts& scaler);

} // namespace shardscope
