// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/doctor/examine.h"
#include "core/engine/skeleton/skeleton.h"
#include "core/report/answers/answer.h"
#include "core/report/text/text_table.h"

#include <string>
#include <vector>

namespace shardscope {

/// The document of `check --json` for a skeleton: what `result` found, without paths of the machine (those of
/// the run folder and of `roots` are spelled as in the skeleton) and without times, so that one checkpoint
/// always gives the same.
std::string skeletonCheckText(
    CheckResult result, const Checkpoint& checkpoint, const std::vector<io::Path>& roots);

/// The answer of `skeleton`.
void writeSkeletonJson(const TextSink& sink, const AnswerContext& context, const SkeletonReport& report,
    const std::string& output);
void writeSkeletonText(
    const TextSink& sink, const TextStyle& style, const SkeletonReport& report, const std::string& output);

} // namespace shardscope
