// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/compare/digest/state_fingerprint.h"

#include <optional>
#include <string>
#include <vector>

namespace shardscope {

/// Properties that are equal in all files of one checkpoint, so that digests of others are not added.
struct StateOrigin {
    std::string tag;
    std::string kind;
    ParallelDegrees parallel;
    std::optional<int64_t> globalSteps;
    std::string model; ///< digest of names, shapes and groups of the parameters

    /// The first property that differs, "tag a and tag b"; empty if none does.
    [[nodiscard]] std::string differenceTo(const StateOrigin& other) const;
};

/// The contribution of one file to the fingerprint.
struct FileDigest {
    std::string name; ///< relative to the tag folder
    uint64_t bytes = 0;
    std::string digest; ///< of its content (content_digest.h)
    std::vector<StateShare> states;
};

/// The digests of some files of a checkpoint. Their sum with the digests of all other files is the
/// fingerprint. A state is a sum over files, and no element is in two files, so a file in several results
/// counts once.
struct PartialFingerprint {
    DigestVersion version = kDigestVersion;
    StateOrigin origin;
    std::vector<FileDigest> files; ///< ascending by name
    std::vector<std::string> missing; ///< names of files that were not read, ascending
    std::vector<DigestedScalar> scalars; ///< from the first rank's files, if they were read
    std::vector<StateShare> expected; ///< elements of every state of the checkpoint; without digests

    /// Sums over the files, in the order of `expected`.
    [[nodiscard]] std::vector<StateShare> covered() const;
    /// The fingerprint, if no file is missing and every element is covered.
    [[nodiscard]] std::optional<Digest> whole() const;
};

/// Digests the present files of a checkpoint; missing files are not an error. Refused, with its name, if a
/// file is damaged or from another run; Unsupported for checkpoints without files of ranks.
Result<PartialFingerprint> digestFiles(
    io::FileSystem& files, const CheckpointPtr& checkpoint, const Workers& workers, JobContext& job);

/// Adds another result. Refused if it has another version of the digest, is from another run, step, world
/// size or model, or has a file of the same name with other content.
Status addPartial(PartialFingerprint& to, const PartialFingerprint& more);

} // namespace shardscope
