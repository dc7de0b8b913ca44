// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/write/execute.h"
#include "core/engine/write/part_run.h"
#include "core/plan/export/export.h"
#include "core/plan/reshard/reshard.h"
#include "core/report/answers/answer.h"
#include "core/report/answers/repair_report.h"
#include "core/report/text/text_table.h"

#include <algorithm>
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
    std::optional<PartReport> part = {}; ///< what a run wrote of one part
    std::function<RepairOutcome()> repaired = {}; ///< of a repair; called when the answer is written
};

void writePlanJson(const TextSink& sink, const PlanContext& context, const WritePlan& plan,
    const std::optional<ExecuteReport>& result);
/// The schema of the answer of a verb that has a plan.
std::string planSchema(std::string_view verb);
/// The plan before it runs: files, bytes, space, what must not change, warnings.
void writePlanText(
    const TextSink& sink, const TextStyle& style, const PlanContext& context, const WritePlan& plan);
/// Summarizes the output of a run in one line.
void writeResultLine(const TextSink& sink, const TextStyle& style, const ExecuteReport& report);
void writePartText(const TextSink& sink, const TextStyle& style, const PartReport& report);
/// Reports a run.
void writeResultText(const TextSink& sink, const TextStyle& style, const ExecuteReport& report);

void describe(auto& out, const ExecuteReport& result)
{
    out.is("WriteResult", "What was written. `bytes_per_second` is of the output.");
    out.name("output", result.output.string());
    out.field("seconds", result.seconds, atLeast(0));
    out.field("bytes_written", result.bytesWritten);
    out.field("bytes_reused", result.bytesReused);
    out.field("bytes_per_second", static_cast<uint64_t>(std::max(0.0, result.bytesPerSecond)));
    out.field("device", result.compute.device);
    out.field("verified", result.verified);
    out.field("was_done", result.wasDone,
        "an earlier run of the same command had finished: this one wrote and verified nothing");
    out.field("read_directly", result.readDirectly,
        "everything was read back by direct I/O, not through the page cache");
    out.textOrNull("fingerprint", result.fingerprint);
    out.field("fingerprint_version", static_cast<uint64_t>(kDigestVersion), kFingerprintVersionText);
    out.field("peak_buffer_bytes", result.peakBufferBytes);
    out.field("compute", result.compute, kComputeText);
    out.object(
        "thread_seconds",
        [&](auto& seconds) {
            seconds.is("ThreadSeconds", "Seconds of all threads by kind of work.");
            for (size_t i = 0; i < kStages; ++i)
                seconds.field(kStageNames[i], result.stageSeconds[i], atLeast(0));
        },
        "of all threads together, by stage");
    out.field("processor_seconds", result.processorSeconds, finite("of the whole process while the job ran"));
    out.object(
        "bytes_per_second_of",
        [&](auto& rates) {
            rates.is("StageRates",
                "Bytes per second of each kind of input and output while it worked; 0 if it did nothing.");
            for (const Stage stage : kInputOutputStages)
                rates.field(
                    kStageNames[static_cast<size_t>(stage)], static_cast<uint64_t>(result.rateOf(stage)));
        },
        "what each stage had while it worked; 0 if it did nothing");
    out.wordOrNull("limited_by", result.limitedBy() != nullptr ? result.limitedBy() : "",
        {"reading", "bwlimit", "processor", "writing", "verification"});
}

} // namespace shardscope
