// SPDX-License-Identifier: Apache-2.0
#include "core/report/answers/diff_words.h"

#include <fmt/format.h>

namespace shardscope {

std::string_view differenceKind(const StateDifference& difference)
{
    return difference.state.leftType != difference.state.rightType ? "dtype" : "values";
}

std::string_view differenceKind(const PartialState& difference)
{
    return difference.side == DiffSide::Left ? "incomplete-left" : "incomplete-right";
}

std::string_view differenceKind(const ScalarDifference& difference)
{
    return difference.left.kind == ScalarKind::Option ? "option" : "scalar";
}

std::string scalarOwner(const StateScalar& scalar)
{
    return scalar.kind == ScalarKind::Step || scalar.kind == ScalarKind::Option
        ? fmt::format("group/{}", scalar.group)
        : scalar.kind == ScalarKind::Scaler      ? "loss_scaler"
        : scalar.kind == ScalarKind::Scheduler   ? "lr_scheduler"
        : scalar.kind == ScalarKind::ClientState ? "client_state"
                                                 : "engine";
}

} // namespace shardscope
