// SPDX-License-Identifier: Apache-2.0
#include "core/layout/counts.h"

#include <algorithm>

namespace shardscope {

bool isRoleUnrecorded(const Checkpoint& checkpoint, const Parameter& parameter)
{
    return parameter.role == ParamRole::Frozen && hasNoRunFolder(checkpoint.kind);
}

bool isFrozen(const Checkpoint& checkpoint, const Parameter& parameter)
{
    return parameter.role == ParamRole::Frozen && !isRoleUnrecorded(checkpoint, parameter);
}

void ParameterCounts::add(const Checkpoint& checkpoint, const Parameter& parameter)
{
    if (parameter.sharedWith != kNoParam) {
        ++shared;
        return;
    }
    if (parameter.role == ParamRole::Buffer) {
        ++buffers;
        return;
    }
    ++count;
    elements += parameter.elements;
    if (parameter.role == ParamRole::Trainable) {
        ++trainable;
        return;
    }
    if (isRoleUnrecorded(checkpoint, parameter)) {
        ++unrecorded;
        return;
    }
    ++frozen;
    frozenElements += parameter.elements;
}

ParameterCounts countParameters(const Checkpoint& checkpoint)
{
    ParameterCounts out;
    for (const Parameter& parameter : checkpoint.params)
        out.add(checkpoint, parameter);
    return out;
}

void FileCounts::add(const CheckpointFile& file)
{
    if (file.status == FileStatus::Missing || file.status == FileStatus::Foreign)
        return;
    ++count;
    bytes += file.identity.bytes;
}

std::vector<io::Path> pathsOf(const Checkpoint& checkpoint)
{
    std::vector<io::Path> out;
    out.reserve(checkpoint.files.size());
    for (const CheckpointFile& file : checkpoint.files)
        out.push_back(file.path);
    return out;
}

FileCounts countFiles(const Checkpoint& checkpoint)
{
    FileCounts out;
    for (const CheckpointFile& file : checkpoint.files)
        out.add(file);
    return out;
}

uint64_t paddingElements(const FlatUnit& unit, uint32_t share)
{
    return unit.kind == UnitKind::Whole || share >= unit.partition.ranks() ? 0
                                                                           : unit.partition.paddingOn(share);
}

uint64_t paddingElements(const FlatUnit& unit)
{
    const FlatPartition& partition = unit.partition;
    return unit.kind == UnitKind::Whole
        ? 0
        : partition.partitionElements() * partition.ranks() - partition.payloadElements();
}

std::vector<std::optional<double>> optimizerSteps(const Checkpoint& checkpoint)
{
    std::vector<std::optional<double>> out;
    for (const ParamGroup& group : checkpoint.groups) {
        const auto first = std::ranges::find_if(
            group.units, [&](UnitId unit) { return checkpoint.units[index(unit)].step.has_value(); });
        out.push_back(first == group.units.end() ? std::nullopt : checkpoint.units[index(*first)].step);
    }
    return out;
}

} // namespace shardscope
