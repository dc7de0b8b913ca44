// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/compare/digest/copies_of_masters.h"
#include "core/compare/digest/merged_runs.h"
#include "core/compare/digest/state_digest.h"

#include <vector>

namespace shardscope {

/// Part of a tensor's digest, from one file.
struct TensorDigest {
    uint32_t tensor = 0;
    Digest digest;
    uint64_t elements = 0;
    Digest rounded; ///< CheckpointScan::rounded
};

/// What a file has of tensors, in the order of its bytes.
struct FoundTensors {
    std::vector<TensorDigest> digests;
    std::vector<Statistics> statistics; ///< one for each of `digests`, if requested; else empty
};

/// The runs of contiguous tensors, by file. A universal folder has a file per tensor: searching all tensors
/// for every file would take quadratic time.
class WholeRuns
{
public:
    WholeRuns(const Checkpoint& checkpoint, const TensorTable& table);
    void addTo(std::vector<TensorRun>& out, FileId file) const;

private:
    std::vector<std::pair<FileId, TensorRun>> m_runs; ///< ascending by file
    MergedRuns m_merged;
};

/// All runs of one file, ascending by offset, without non-contiguous whole tensors (they have no single run).
std::vector<TensorRun> runsOfFile(
    const Checkpoint& checkpoint, const TensorTable& table, const WholeRuns& wholeRuns, FileId file);

/// What the scans of all files share.
struct ScanContext {
    io::FileSystem& files;
    const Checkpoint& checkpoint;
    const TensorTable& table;
    const WholeRuns& wholeRuns;
    const CopiesOfMasters* copies; ///< null: rounded masters are not wanted
    const ScanOptions& options;
    const ComputeBackend& backend;
    JobContext& job;
};

/// One sequential pass: digest of the content, CRC of every record, digests of every run, computed by the
/// backend.
FileScan scanFile(const ScanContext& context, FileId id, FoundTensors& tensors);

} // namespace shardscope
