// SPDX-License-Identifier: Apache-2.0
#pragma once

// Room core/report/answers: the answers of commands, each as text and as JSON, with a header for each
// command. It uses core/report/{text,json}, core/{engine,plan,doctor,compare,layout} and lower rooms. Start
// with AnswerContext, then the header of a command, for example check_report.h.

#include "core/checkpoint/model/checkpoint.h"
#include "core/report/json/json_writer.h"
#include "core/tensor/compute_choice.h"

#include <string_view>

namespace shardscope {

/// The checkpoint that an answer is about.
struct AnswerContext {
    const Checkpoint& checkpoint;
    std::string path; ///< PATH as it was given
    std::string selectedFile; ///< name inside the tag folder when PATH was a file; else empty
    const ComputeChoice* compute = nullptr; ///< the compute device, for verbs that compute
};

/// Opens the JSON object: `schema` "shardscope/VERB/1", `path`, `checkpoint`, `tag`, and `selected` for a
/// file.
void beginAnswer(JsonWriter& json, std::string_view verb, const AnswerContext& context);
/// "compute" (compute_report.h), if a device was chosen. Call it when the work is done: it includes the
/// device's notes.
void writeCompute(JsonWriter& json, const AnswerContext& context);
/// Closes the object, ends the line and flushes the writer.
void endAnswer(JsonWriter& json, const TextSink& sink);

/// The base folder of relative paths in an answer: the tag folder, else the run folder.
std::string checkpointFolder(const Checkpoint& checkpoint);
/// {"dp": 0, "tp": 0, "pp": 0}
void writeRank(JsonWriter& json, std::string_view field, const RankCoordinate& rank);
/// {"dp": 4, "tp": 1, "pp": 1, "ep": 1}
void writeParallel(JsonWriter& json, const ParallelDegrees& parallel);
void writeShape(JsonWriter& json, std::string_view field, const Shape& shape);
/// A file's name relative to the checkpoint, or null for kNoFile.
void writeFileName(JsonWriter& json, std::string_view field, const Checkpoint& checkpoint, FileId file);
/// The dtype of a parameter in the model, else that of its first state; "unknown" if it has no state.
DType modelDtype(const Checkpoint& checkpoint, ParamId param);
/// The dtype of one state: that of the flat unit, else that of the whole tensor, else Unknown.
DType stateDtype(const Checkpoint& checkpoint, ParamId param, std::string_view state);

} // namespace shardscope
