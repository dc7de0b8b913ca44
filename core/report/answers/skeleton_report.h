// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/doctor/examine.h"
#include "core/engine/skeleton/skeleton.h"
#include "core/report/answers/answer.h"
#include "core/report/text/text_table.h"

#include <string>
#include <vector>

namespace shardscope {

/// The document of `check --json` for a skeleton: the findings in `result`, without times and without paths
/// of the machine. The run folder and `roots` have their names in the skeleton. One checkpoint always gives
/// the same text.
std::string skeletonCheckText(
    CheckResult result, const Checkpoint& checkpoint, const std::vector<io::Path>& roots);

/// Checks the checkpoint, which was opened with `open`, and writes its skeleton with the findings: fills
/// `request.checkJson`. Errors as of writeSkeleton().
Result<SkeletonReport> writeCheckedSkeleton(io::FileSystem& files, const CheckpointPtr& checkpoint,
    SkeletonRequest request, const OpenOptions& open, JobContext& job);

/// The answer of `skeleton`.
void writeSkeletonJson(const TextSink& sink, const AnswerContext& context, const SkeletonReport& report,
    const std::string& output);
std::string skeletonSchema();
void writeSkeletonText(
    const TextSink& sink, const TextStyle& style, const SkeletonReport& report, const std::string& output);

} // namespace shardscope
