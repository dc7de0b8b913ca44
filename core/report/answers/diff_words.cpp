// SPDX-License-Identifier: Apache-2.0
#include "core/report/answers/diff_words.h"

#include "core/base/text.h"

#include <fmt/format.h>

namespace shardscope {

DifferenceCounts countDifferences(const StateDiff& diff)
{
    DifferenceCounts out;
    out.differences = diff.scalarDifferences.size();
    for (const ParamDifference& param : diff.params) {
        const PairedParam& pair = param.param;
        const bool isWhole = !pair.isPaired() || !pair.sameShape;
        out.differences += isWhole ? 1 : pair.onlyLeft.size() + pair.onlyRight.size() + param.states.size();
        out.incomplete += isWhole ? 0 : param.partial.size();
    }
    return out;
}

std::string countsText(const DifferenceCounts& counts)
{
    const auto of = [](uint64_t count, std::string_view one, std::string_view many) {
        return fmt::format("{} {}", formatCount(count), count == 1 ? one : many);
    };
    const std::string incomplete = of(counts.incomplete, "tensor incomplete", "tensors incomplete");
    if (counts.differences == 0)
        return counts.incomplete == 0 ? std::string() : "no differences, " + incomplete;
    const std::string differences = of(counts.differences, "difference", "differences");
    return counts.incomplete == 0 ? differences : differences + ", " + incomplete;
}

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
