// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/bench/generated_model.h"

#include <string>

namespace shardscope::bench {

/// Steps taken, in every scalar that says so.
constexpr uint32_t kGeneratedSteps = 100;

/// data.pkl of the files that DeepSpeed 0.19.8 with torch 2.15 saves after training the model in bf16 with
/// torch's AdamW: classes, keys and their order, and which objects are one object.
/// tests/interop/check_generated.py compares it with DeepSpeed's files. Storages are numbered in this order:
/// - model states, ZeRO-1/2: the flat 16-bit vector of each group; ZeRO-3: an empty one per parameter.
/// - optimizer states: per unit the step, exp_avg and exp_avg_sq; then per unit the master weights.
Result<std::string> modelStatesPickle(const GenerateOptions& options, const GeneratedModel& model);
Result<std::string> optimStatesPickle(
    const GenerateOptions& options, const GeneratedModel& model, uint32_t rank);

} // namespace shardscope::bench
