// SPDX-License-Identifier: Apache-2.0
#include "core/doctor/check_context.h"
#include "core/doctor/finding_sink.h"
#include "core/doctor/saved_facts.h"

#include <algorithm>

namespace shardscope::diagnosis {

namespace {

bool isInSwapFiles(const Checkpoint& checkpoint, const FlatUnit& unit)
{
    return std::any_of(unit.states.begin(), unit.states.end(), [&](const UnitState& state) {
        return std::any_of(state.perRank.begin(), state.perRank.end(), [&](const StoredRun& run) {
            return run.isPresent() && checkpoint.file(run.file).role == FileRole::Swap;
        });
    });
}

Status look(const CheckContext& context, FindingSink& sink)
{
    if (!context.hasModel() || !partitionsParameters(context.checkpoint->kind))
        return {};
    const Checkpoint& checkpoint = *context.checkpoint;
    const auto isSubGroup = [](const FlatUnit& unit) { return unit.kind == UnitKind::SubGroup; };
    const auto all = std::count_if(checkpoint.units.begin(), checkpoint.units.end(), isSubGroup);
    const auto swapped = std::count_if(checkpoint.units.begin(), checkpoint.units.end(),
        [&](const FlatUnit& unit) { return isSubGroup(unit) && isInSwapFiles(checkpoint, unit); });
    if (swapped > 0)
        sink.add(Severity::Warning,
            "stock DeepSpeed resumes it silently without moments and steps, and without the sub-groups that "
            "are not in swap files",
            {},
            {std::to_string(swapped) + " of " + std::to_string(all)
                + " sub-groups are in swap files; with NVMe offload DeepSpeed copies these back and does not "
                  "read the optimizer files (runtime/engine.py, load_checkpoint)"});
    return {};
}

} // namespace

/// Optimizer states are in swap files: when stock DeepSpeed resumes with NVMe offload, it loses the rest.
extern const Diagnosis kNvmeStateSkew;
const Diagnosis kNvmeStateSkew{
    .code = "nvme-state-skew",
    .letter = "N5",
    .name = "Resuming with NVMe offload loses optimizer states",
    .depth = CheckDepth::Metadata,
    .worst = Severity::Warning,
    .silent = true,
    .means = {.loading = "With NVMe offload, stock DeepSpeed loads only the masters of swapped sub-groups. "
                         "Smaller sub-groups start from initial values.",
        .resuming = "Moments, steps, the loss scale and the options of param groups start again."},
    .remedy = "write ordinary shards, which hold all of it, and resume from them with CPU offload or none",
    .command = reshardCommand,
    .threads = "DS#2272, DS#4416, DS#4565, DS#3376",
    .look = look,
};

} // namespace shardscope::diagnosis
