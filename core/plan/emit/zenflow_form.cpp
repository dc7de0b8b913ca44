// SPDX-License-Identifier: Apache-2.0
#include "core/plan/emit/zenflow_form.h"

#include "core/base/finding_codes.h"
#include "core/checkpoint/model/checkpoint.h"
#include "core/checkpoint/model/model_states.h"
#include "core/checkpoint/zero/zenflow.h"
#include "core/plan/target/reshard_options.h"
#include "core/torchfile/pickle/pickle_values.h"

#include <limits>

namespace shardscope {

namespace {

bool mayHaveZenFlow(CheckpointKind kind)
{
    return isZero12(kind);
}

} // namespace

bool keepsColumns(const Checkpoint& source, CheckpointKind target, const ReshardOptions& options)
{
    return source.zenflow && !options.rowMajor && mayHaveZenFlow(target);
}

Status checkZenFlow(const Checkpoint& source, CheckpointKind target, const ReshardOptions& options)
{
    if (isStage0(target) && hasZenFlow(source))
        return fail(ErrorCode::Unsupported,
            "ZenFlow's copies of the weights may be ahead of their masters, and without ZeRO only equal "
            "copies show which masters belong to which parameter",
            source.tagFolder.string(),
            "rewrite it for stage 3 first, where weights are those of the masters, and then rewrite the "
            "result for stage 0");
    for (uint32_t i = 0; i < source.params.size(); ++i) {
        const auto order = source.transposedOrder(ParamId{i});
        if (order && order->rows > std::numeric_limits<uint32_t>::max()) // Segment::sourceStep
            return fail(ErrorCode::Unsupported,
                "a matrix of more than 4,294,967,295 rows is stored column by column",
                source.tagFolder.string());
    }
    if (!options.rowMajor)
        return {};
    if (!source.zenflow)
        return fail(ErrorCode::Usage, "the checkpoint stores its matrices row by row as it is",
            source.tagFolder.string(), Hint::omit("--row-major"));
    if (!mayHaveZenFlow(target))
        return fail(ErrorCode::Usage, "only stages 1 and 2 can store matrices column by column",
            source.tagFolder.string(), Hint::omit("--row-major"));
    return {};
}

void setZenFlowOff(ArchiveComposer& composer, const ReshardContext& context)
{
    const ReshardTarget& target = context.target;
    if (mayHaveZenFlow(target.kind) && context.source->zenflow == target.zenflow)
        return;
    const PickleGraph& graph = composer.graph();
    const NodeId zenflow = modelStates(graph).configValue({"zero_optimization", "zenflow"});
    if (zenflow != kNoNode && graph.kind(zenflow) != NodeKind::None)
        composer.substitute(zenflow, composer.builder().none());
}

void addZenFlowEquals(const Checkpoint& source, CheckpointKind target, bool columns,
    std::vector<std::pair<std::string, std::string>>& out)
{
    if (!hasZenFlow(source))
        return;
    out.emplace_back("zero_optimization.zenflow",
        columns ? "set, in DeepSpeed 0.19.6 or older: matrices are stored column by column"
            : mayHaveZenFlow(target) ? "not set, or in DeepSpeed 0.19.8: matrices are stored row by row"
                                     : "not set");
}

void addZenFlowWarnings(
    const Checkpoint& source, CheckpointKind target, bool columns, std::vector<Finding>& out)
{
    if (!hasZenFlow(source))
        return;
    const auto add = [&](Severity severity, std::string message) {
        out.push_back({code::kStockLoaderTrap, severity, std::move(message), {}, {}});
    };
    if (columns)
        add(Severity::Warning,
            "matrices stay stored column by column: a run without ZenFlow, or with that of DeepSpeed 0.19.8, "
            "silently reads every matrix as its transpose; --row-major writes for those");
    else if (mayHaveZenFlow(target))
        add(Severity::Warning,
            "matrices are stored row by row: a run with the ZenFlow of DeepSpeed 0.19.6 or older silently "
            "reads every matrix as its transpose");
    add(Severity::Info,
        "ZenFlow saves neither the moments of its selective optimizer nor the columns that it had chosen: a "
        "resumed run starts both again and counts its steps from 0. Its first update of the masters drops "
        "the changes of the selective optimizer to the weights since the last update");
}

} // namespace shardscope
