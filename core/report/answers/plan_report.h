// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/write/execute.h"
#include "core/engine/write/part_run.h"
#include "core/plan/export/export.h"
#include "core/plan/reshard/reshard.h"
#include "core/report/json/json_writer.h"
#include "core/report/text/text_table.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace shardscope {

/// Facts that answers and the reshard dialog show in addition to a plan.
struct PlanContext {
    std::string verb = {}; ///< "reshard", "export", "plan", "run"
    std::string source = {}; ///< the source's tag folder
    std::string sourceTag = {};
    std::string destination = {}; ///< DST
    uint64_t memoryBytes = 0; ///< max size of payload buffers
    std::optional<uint64_t> freeBytes = {}; ///< on the destination's file system
    /// Files of the target, relative to it, that the job replaces or removes. Not known for `plan`.
    std::optional<std::vector<std::string>> replaces = {};
    std::string savedTo = {}; ///< `plan`: the file of the saved plan
    std::function<void(JsonWriter&)> more = {}; ///< writes more fields after the others
};

void writePlanJson(const TextSink& sink, const PlanContext& context, const WritePlan& plan,
    const std::optional<ExecuteReport>& result);
/// The plan before it runs: files, bytes, space, what must not change, warnings.
void writePlanText(
    const TextSink& sink, const TextStyle& style, const PlanContext& context, const WritePlan& plan);
/// Summarizes the output of a run in one line.
void writeResultLine(const TextSink& sink, const TextStyle& style, const ExecuteReport& report);
/// The field `result` of JSON answers.
void writeResultObject(JsonWriter& json, const ExecuteReport& result);
/// The field `part` of JSON answers: what a run wrote of one part.
void writePartObject(JsonWriter& json, const PartReport& report);
void writePartText(const TextSink& sink, const TextStyle& style, const PartReport& report);
/// Reports a run.
void writeResultText(const TextSink& sink, const TextStyle& style, const ExecuteReport& report);

} // namespace shardscope
