// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/model/checkpoint.h"

#include <string>
#include <vector>

namespace shardscope {

/// Elements of a parameter that are read and compared at once.
inline constexpr uint64_t kPieceElements = uint64_t{256} << 10;

/// A state of a parameter that two checkpoints both have. If only one side has masters, they are compared
/// with the other's weights, and the names differ.
struct PairedState {
    std::string left;
    std::string right;
    DType leftType = DType::Unknown;
    DType rightType = DType::Unknown;
    bool isCopy = false; ///< 16-bit copies of masters: not part of the training state
};

/// One parameter of two checkpoints.
struct PairedParam {
    std::string name;
    ParamId left = kNoParam; ///< kNoParam: missing
    ParamId right = kNoParam;
    uint64_t elements = 0;
    bool sameShape = true; ///< otherwise not compared
    std::vector<PairedState> states;
    std::vector<std::string> onlyLeft; ///< states of the training state that the other does not have
    std::vector<std::string> onlyRight;

    [[nodiscard]] bool isPaired() const { return left != kNoParam && right != kNoParam; }
};

/// Parameters by name, in the order of the left checkpoint, then those that only the right one has. Aliases
/// of tied parameters are omitted: their owners are compared.
std::vector<PairedParam> pairedParams(const Checkpoint& left, const Checkpoint& right);

} // namespace shardscope
