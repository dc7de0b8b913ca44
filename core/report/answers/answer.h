// SPDX-License-Identifier: Apache-2.0
#pragma once

// Room core/report: what the program tells people and other programs.
//
// Folder core/report/answers: the answers of commands, each as text and as JSON, with a header for each
// command. Each is described once (core/describe): the JSON, its schema and the Python class follow. Start
// with AnswerContext, then the header of a command, for example check_report.h.

#include "core/checkpoint/model/checkpoint.h"
#include "core/compute/compute_choice.h"
#include "core/describe/json_out.h"
#include "core/describe/schema_out.h"
#include "core/report/summary/report_head.h"

#include <string_view>

namespace shardscope {

/// The checkpoint that an answer is about.
struct AnswerContext {
    const Checkpoint& checkpoint;
    std::string path; ///< PATH as it was given
    std::string selectedFile; ///< name inside the tag folder when PATH was a file; else empty
    const ComputeChoice* compute = nullptr; ///< the compute device, for verbs that compute
    const ReportHead* report = nullptr; ///< of a file that the window saves; null on standard output
};

/// The base folder of relative paths in an answer: the tag folder, else the run folder.
std::string checkpointFolder(const Checkpoint& checkpoint);
/// The name of a file relative to the checkpoint; empty for kNoFile.
std::string_view fileName(const Checkpoint& checkpoint, FileId file);
/// The dtype of one state: that of the flat unit, else that of the whole tensor, else Unknown.
DType stateDtype(const Checkpoint& checkpoint, ParamId param, std::string_view state);
/// "cpu (plain code)".
std::string computeText(const ComputeReport& compute);

/// For schemas: a checkpoint with one empty parameter, file and group.
const AnswerContext& schemaContext();

void describe(auto& out, const RankCoordinate& rank)
{
    out.is("Rank", "A rank: its data, tensor and pipeline parallel number.");
    out.field("dp", rank.dp);
    out.field("tp", rank.tp);
    out.field("pp", rank.pp);
}

void describe(auto& out, ConstOr<ParallelDegrees> auto& parallel)
{
    out.is("Parallel", "How many data, tensor, pipeline and expert parallel ranks.");
    out.field("dp", parallel.dp);
    out.field("tp", parallel.tp);
    out.field("pp", parallel.pp);
    out.field("ep", parallel.ep);
}

void describe(auto& out, const ComputeReport& compute)
{
    out.is("Compute", "The device that computed, and why.");
    out.field("device", compute.device, "cpu, cuda:0, …");
    out.field("by", compute.by);
    out.textOrNull("reason", compute.reason);
    out.field("notes", compute.notes,
        "differences from the request, such as another device; the result is the same");
}

inline constexpr auto kKindWords = kKindTraits | std::views::transform(&KindTraits::name);
inline constexpr const char* kComputeText = "the compute device that was used, and why";
inline constexpr const char* kFingerprintVersionText
    = "of its definition; fingerprints of two versions are not comparable";

/// `path`, `checkpoint`, `tag`, and `selected` for a file.
void describeSubject(auto& out, const AnswerContext& context)
{
    out.name("path", context.path, "PATH as it was given");
    out.name("checkpoint", checkpointFolder(context.checkpoint), "the folder that relative paths start from");
    out.nameOrNull("tag", context.checkpoint.tag);
    out.maybe(!context.selectedFile.empty(),
        [&] { out.name("selected", context.selectedFile, "the file that PATH named"); });
}

/// `compute`, if a device was chosen. The work must be done: it includes the device's notes.
void describeCompute(auto& out, const AnswerContext& context)
{
    if (out.isSchema || context.compute != nullptr)
        out.field("compute", context.compute != nullptr ? reportOf(*context.compute) : ComputeReport(),
            kComputeText);
}

} // namespace shardscope
