// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/finding_codes.h"
#include "core/checkpoint/model/checkpoint.h"
#include "core/plan/reshard/reshard.h"

#include <memory>

/// What tests of plans share: samples, plans and the comparison of what they write with what they read.
namespace shardscope::test {

/// Of the committed samples: "zero2-w2", or "zero2-universal-w2/global_step5_universal".
io::Path planSample(const char* name);
/// The checkpoint, fully read; the test ends when there is none.
CheckpointPtr openForPlan(const io::Path& path);
/// The plan; the test ends when there is none.
WritePlanPtr planFor(const CheckpointPtr& source, const ReshardOptions& options);
/// What a plan writes into `folder`, read again: complete and without a finding above info. (The
/// copied configuration may name another sub-group size than was requested.)
/// `allowed`: the code of one more finding that may be present.
CheckpointPtr rewrite(const CheckpointPtr& source, const ReshardOptions& options, const io::Path& folder,
    std::string_view allowed = code::kSubGroupSize);
/// All elements of a parameter's state; the test ends when they cannot be read.
std::vector<uint8_t> bytesOf(const Checkpoint& checkpoint, const std::string& name, const std::string& state);
/// Slices cut into `parts` runs each, the first run of every slice, then the second of every slice, …
std::vector<uint8_t> interleaved(const std::vector<std::vector<uint8_t>>& slices, size_t parts);
/// Both hold the same training state, byte for byte.
void checkSameState(const CheckpointPtr& result, const CheckpointPtr& source);

} // namespace shardscope::test
