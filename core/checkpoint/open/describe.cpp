// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/open/describe.h"

#include "core/base/finding_codes.h"
#include "core/base/tested_releases.h"
#include "core/base/text.h"
#include "core/checkpoint/folder/work_folders.h"
#include "core/checkpoint/units/model_ranks.h"
#include "core/torchfile/pickle/pickle_values.h"

namespace shardscope {

void describeOptimizer(Reading& reading)
{
    Checkpoint& out = reading.out;
    for (const FlatUnit& unit : out.units) {
        if (unit.kind == UnitKind::Frozen)
            continue;
        for (size_t i = 1; i < unit.states.size(); ++i)
            out.optimizer += (i > 1 ? "+" : "") + unit.states[i].name;
        break;
    }
    const TorchFile* optim = reading.content(out.templateOptim);
    if (optim == nullptr)
        return;
    const PickleGraph& graph = optim->pickle();
    if (const auto scaler = asObject(graph, lookup(graph, out.optimWrapper, "loss_scaler")))
        out.lossScale = asNumber(graph, lookup(graph, scaler->attributes, "cur_scale"));
    else if (isStage0(out.kind))
        out.lossScale = asNumber(graph, lookup(graph, out.optimWrapper, "cur_scale"));
}

void describeEvidence(Reading& reading, const OptimizerFiles& optimizers)
{
    Checkpoint& out = reading.out;
    out.evidence.push_back(std::to_string(optimizers.count)
        + (optimizers.count == 1 ? " optimizer file" : " optimizer files")
        + (reading.bf16Prefix ? " with the bf16_ prefix" : "")
        + (reading.modelRanks > 1 ? " for each model-parallel rank" : ""));
    if (out.replacedKind) {
        // The evidence has it already.
    } else if (optimizers.zero3)
        out.evidence.push_back("one model file per rank, as ZeRO-3 writes them");
    else if (hasBf16Optimizer(out.kind))
        out.evidence.push_back("the optimizer files have no `zero_stage`: BF16_Optimizer");
    else
        out.evidence.push_back("`zero_stage` is " + std::to_string(out.zeroStage));
    if (reading.modelRoot != kNoNode && !shardGroupRanks(reading, optimizers.guide))
        out.evidence.push_back("`dp_world_size` is " + std::to_string(reading.worldSize));
}

void noteNewerRelease(Checkpoint& out)
{
    if (isNewerThanTested(out.deepspeedVersion))
        out.findings.push_back({code::kNewerRelease, Severity::Warning,
            "saved by DeepSpeed " + toValidUtf8(out.deepspeedVersion) + ", which is newer than "
                + std::string(kTestedReleases.back())
                + ", the newest release that this version was tested with",
            {}, {}});
}

void addUnfinishedWork(io::FileSystem& files, const RunListing* listing, Checkpoint& out)
{
    for (Finding& finding : unfinishedWorkFindings(files, out, listing)) {
        out.complete = out.complete && finding.severity != Severity::Error;
        out.findings.push_back(std::move(finding));
    }
}

} // namespace shardscope
