// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/report/answers/answer.h"
#include "core/report/text/text_table.h"

#include <cstdint>

namespace shardscope {

/// Counts of a checkpoint for reports and windows. Aliases of tied parameters are counted in `shared` only.
struct ParameterCounts {
    uint64_t count = 0; ///< trainable + frozen
    uint64_t elements = 0;
    uint64_t trainable = 0;
    uint64_t frozen = 0;
    uint64_t shared = 0; ///< aliases of tied parameters
    uint64_t buffers = 0;
};
ParameterCounts countParameters(const Checkpoint& checkpoint);

struct FileCounts {
    uint64_t count = 0; ///< existing files that belong to the checkpoint
    uint64_t bytes = 0;
};
FileCounts countFiles(const Checkpoint& checkpoint);

/// The answer of `inspect`: what it is, with evidence.
void writeInspectJson(const TextSink& sink, const AnswerContext& context);
void writeInspectText(const TextSink& sink, const TextStyle& style, const AnswerContext& context);

} // namespace shardscope
