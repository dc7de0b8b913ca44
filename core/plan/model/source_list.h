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

    /// Does nothing for kNoFile. If the content of a file was dropped, reads its directory again. Files of
    /// bare elements (swapped states, safetensors) have one record for the whole file, without a checksum.
    Status add(FileId id);
    /// Adds all files that hold a part of a state.
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

/// The identity of sources, for ids of plans: names, sizes and times. Device and inode are left out: a plan
/// may run on another machine that sees the same files.
std::string identityText(const std::vector<PlanSource>& sources);
/// SHA-256 of the directory of a source: names, places, sizes and checksums of its records, in hex.
std::string recordsDigest(const PlanSource& source);

/// Whether a plan needs a state of a flat unit.
using StateChoice = std::function<bool(const FlatUnit&, const UnitState&)>;

/// Success if every rank has its part of the states that `isNeeded` selects. Else Refused, with the first
/// missing one.
Status requireRuns(const Checkpoint& source, const StateChoice& isNeeded);

} // namespace shardscope
