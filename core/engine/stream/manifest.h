// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/stream/output_walk.h"
#include "core/plan/model/write_plan.h"

#include <string>
#include <vector>

namespace shardscope {

/// The text of shardscope.json: every file with its size, digest (content_digest.h) and records, the
/// fingerprint, the plan, and its marks (core/plan/model/marks.h). No time, host, user or absolute path, so
/// that two runs of one plan give the same bytes.
///
/// Records without bytes (ZeRO-3 model files have one for every parameter) are counted, not listed.
/// `sourceRun`: which run the source is of, if later calls ask for it (ExecuteOptions::sourceRun).
std::string manifestText(const WritePlan& plan, const std::vector<WrittenFile>& files,
    const std::string& fingerprint, const std::string& sourceRun = {});

} // namespace shardscope
