// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/compare/digest/state_fingerprint.h"

#include <optional>
#include <string>
#include <vector>

namespace shardscope {

/// What is the same in all files of one checkpoint: digests of others are not added to theirs.
struct StateOrigin {
    std::string tag;
    std::string kind;
    ParallelDegrees parallel;
    std::optional<int64_t> globalSteps;
    std::string model; ///< digest of names, shapes and groups of the parameters

    /// The first thing in which the other differs, "tag a and tag b"; empty when none does.
    [[nodiscard]] std::string differenceTo(const StateOrigin& other) const;
};

/// What one file adds to the fingerprint.
struct FileDigest {
    std::string name; ///< relative to the tag folder
    uint64_t bytes = 0;
    std::string sha256;
    std::vector<StateShare> states;
};

/// The digests of some of a checkpoint's files, which add up to its fingerprint with those of the others,
/// wherever they lie. A state is a sum over files, and no element is in two of them, so that a file that
/// several have read counts once.
struct PartialFingerprint {
    StateOrigin origin;
    std::vector<FileDigest> files; ///< ascending by name
    std::vector<std::string> missing; ///< names of those that are part of it and were not read, ascending
    std::vector<DigestedScalar> scalars; ///< from the first rank's files, where they were read
    std::vector<StateShare> expected; ///< elements of every state of the whole; without digests

    /// Sums over the files, in the order of `expected`.
    [[nodiscard]] std::vector<StateShare> covered() const;
    /// The fingerprint, once no file is missing and every element is covered.
    [[nodiscard]] std::optional<Digest> whole() const;
};

/// Digests the files of a checkpoint that are here; missing ones are no error. Refused, naming it, where one
/// is damaged or of another run; Unsupported for what does not consist of ranks' files.
Result<PartialFingerprint> digestFiles(
    io::FileSystem& files, const CheckpointPtr& checkpoint, const Workers& workers, JobContext& job);

/// Adds another one. Refused when it is of another run, step, world or model, or has a file of the same name
/// with another content.
Status addPartial(PartialFingerprint& to, const PartialFingerprint& more);

/// The answer of `fingerprint --partial --json` or of `--combine`. Damaged when the text is none.
Result<PartialFingerprint> parsePartial(const std::string& text, const std::string& path);

} // namespace shardscope
