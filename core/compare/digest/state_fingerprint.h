// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/compare/digest/digested_scalars.h"
#include "core/compare/digest/state_digest.h"

#include <string_view>
#include <vector>

namespace shardscope {

/// The fingerprint of a training state (state_digest.h): the sum of `states` and `scalars`.
struct StateFingerprint {
    Digest whole;
    std::vector<StateShare> states; ///< all tensors of one state, without copies of masters
    std::vector<DigestedScalar> scalars;
    std::vector<Digest> tensors; ///< index: TensorTable of the checkpoint
    uint64_t files = 0;
    uint64_t bytes = 0;
};

/// Reads every byte of a complete checkpoint once and checks CRCs. Refused, with the name, if something is
/// missing or damaged. Unsupported for weights only, and if a digest would not include all of the state:
/// states set aside (odd_states.h), options that are tensors, frozen parameters and buffers with strides.
Result<StateFingerprint> fingerprintState(
    io::FileSystem& files, const CheckpointPtr& checkpoint, const Workers& workers, JobContext& job);

struct ParameterDigest {
    ParamId param = kNoParam;
    std::string_view state; ///< points into the checkpoint
    Digest digest;
};
/// The summands of `states`, in the order of parameters.
std::vector<ParameterDigest> digestsByParameter(
    const CheckpointPtr& checkpoint, const StateFingerprint& fingerprint);

struct SoundScanOptions {
    std::vector<std::string> allow = {}; ///< codes of findings
    io::DigestKind digest = io::DigestKind::Xxh3; ///< of each file's content
};

/// Reads every file once. Refused as above, except for the findings that are allowed.
Result<CheckpointScan> scanSound(io::FileSystem& files, const CheckpointPtr& checkpoint,
    const Workers& workers, const SoundScanOptions& options, JobContext& job);

} // namespace shardscope
