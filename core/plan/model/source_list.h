// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/job_context.h"
#include "core/checkpoint/model/checkpoint.h"
#include "core/plan/model/write_plan.h"

#include <functional>
#include <memory>
#include <vector>

namespace shardscope {

/// Collects the files that a plan reads, each once, in the order of their first use. Not thread-safe.
class SourceList
{
public:
    SourceList(io::FileSystem& files, const Checkpoint& source, JobContext& job);

    /// Nothing for kNoFile. Reads the directory again of a file whose content was dropped. Files of bare
    /// elements (swapped states, safetensors) have one record for the whole file, without a checksum.
    Status add(FileId id);
    /// All files that hold a part of a state.
    Status addAllOf(const UnitState& state);

    [[nodiscard]] std::vector<PlanSource> takeSources() { return std::move(m_sources); }
    /// FileId → index into the sources, Segment::kZero for files that were not added.
    [[nodiscard]] std::shared_ptr<const std::vector<uint32_t>> takeMap();

private:
    void addBare(FileId id, const CheckpointFile& file);

    io::FileSystem& m_files;
    const Checkpoint& m_source;
    JobContext& m_job;
    std::vector<uint32_t> m_map;
    std::vector<PlanSource> m_sources;
};

/// The identity of sources, for ids of plans: names, sizes and times. Not device and inode: a plan may be run
/// on another machine that sees the same files.
std::string identityText(const std::vector<PlanSource>& sources);

/// Whether a plan needs a state of a flat unit.
using StateChoice = std::function<bool(const FlatUnit&, const UnitState&)>;

/// Success when every rank has its part of the states that `isNeeded` names; else Refused, naming the first
/// that is not.
Status requireRuns(const Checkpoint& source, const StateChoice& isNeeded);

} // namespace shardscope
