// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/compare/diff/diff_causes.h"
#include "core/report/answers/answer.h"
#include "core/report/text/text_table.h"

namespace shardscope {

/// The answer of `diff`: both sides, what was compared, every difference, the verdict and its causes.
struct DiffAnswer {
    AnswerContext left;
    AnswerContext right;
    const StateDiff& diff;
    DiffVerdict verdict = DiffVerdict::Same;
    const std::vector<DiffCause>& causes;
    uint64_t limit = 0; ///< text: max number of listed differences
};

void writeDiffJson(const TextSink& sink, const DiffAnswer& answer);
std::string diffSchema();
void writeDiffText(const TextSink& sink, const TextStyle& style, const DiffAnswer& answer);

} // namespace shardscope
