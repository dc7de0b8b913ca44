// SPDX-License-Identifier: Apache-2.0
#pragma once

// Folder core/engine/verify: reads checkpoints again: the output of a job against its plan, and any
// checkpoint for the verb `verify`. Start with verifyCheckpoint(); for the check after writing, with
// OutputModel (verify_output.h).

#include "core/base/finding.h"
#include "core/base/job_context.h"
#include "core/checkpoint/model/checkpoint.h"
#include "core/compute/workers.h"
#include "core/io/content_digest.h"
#include "core/layout/slices/slice_rules.h"
#include "core/tensor/element_digest.h"

#include <optional>
#include <vector>

namespace shardscope {

/// What became of the manifest (shardscope.json) of a checkpoint.
enum class ManifestUse : uint8_t {
    Absent,
    Unreadable, ///< it exists, and its bytes cannot be read
    Damaged, ///< it is no manifest of this program
    Compared, ///< every file was compared with it
};

struct VerifyReport {
    bool ok = false;
    ManifestUse manifest = ManifestUse::Absent;
    bool crc = false; ///< the CRC of every record that has one and the structure of every file were checked
    bool lacksCrc = false; ///< there are records without one, such as those of torch's legacy files
    uint64_t files = 0;
    uint64_t bytes = 0;
    std::string fingerprint; ///< of the whole training state
    DigestVersion fingerprintVersion = kDigestVersion; ///< that of the manifest, if there is one
    io::DigestKind digest = io::DigestKind::None; ///< of the files, that was compared with the manifest
    std::vector<Finding> problems;

    [[nodiscard]] bool isCompared() const { return manifest == ManifestUse::Compared; }
};

/// Success if the checkpoint can be verified: its kind is known, or its folder has the manifest of an export.
/// Weights without one have nothing to compare, unless an export was interrupted while it was published.
Status requireVerifiable(io::FileSystem& files, const Checkpoint& checkpoint);
/// Makes values that no run saved, as in a repaired copy, problems of the report.
void refuseMarked(const Checkpoint& checkpoint, VerifyReport& report);

/// A checkpoint to compare with; none if null.
struct VerifyAgainst {
    CheckpointPtr checkpoint;
    const SliceRules* rules = nullptr; ///< for merging slices
};

/// Reads every byte of a checkpoint: checks the CRC of every record, the structure of every file, and its
/// digest against the manifest if there is one. With `against`, also compares every parameter and state with
/// that checkpoint, at any world size. If the two differ in slices or stages, both are merged
/// (same_degrees.h), slices by the rules if given. Weights have no state and no CRC: the digests of an export
/// are compared with its manifest; Unsupported for others.
Result<VerifyReport> verifyCheckpoint(io::FileSystem& files, const CheckpointPtr& checkpoint,
    const VerifyAgainst& against, const Workers& workers, JobContext& job);

} // namespace shardscope
