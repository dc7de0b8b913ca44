// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/compare/digest/scaler_texts.h"
#include "core/tensor/element_digest.h"

#include <string>
#include <string_view>
#include <vector>

namespace shardscope {

/// A part of the training state that is not a tensor: "group/0" "option/lr", "scaler" "cur_scale", …
/// state_digest.h defines them and their texts.
struct DigestedScalar {
    std::string name;
    std::string state;
    std::string text;
    Digest digest; ///< digestText() of the three
    std::string_view lacks; ///< part of the value that is not in `text`; empty: none

    bool operator==(const DigestedScalar&) const = default;
};

/// Steps and options of the param groups, without digests. Also for an optimizer file with elements from
/// another step or run.
std::vector<DigestedScalar> groupScalars(const Checkpoint& checkpoint);
/// All scalars: groups and scaler from rank 0's optimizer file, the scheduler from its model file. Only
/// readable ones.
std::vector<DigestedScalar> digestedScalars(
    const Checkpoint& checkpoint, DigestVersion version = kDigestVersion);
/// The same with another form of the loss scaler: kinds of checkpoints store different attributes.
std::vector<DigestedScalar> digestedScalars(
    const Checkpoint& checkpoint, const ScalerTexts& scaler, DigestVersion version = kDigestVersion);

} // namespace shardscope
