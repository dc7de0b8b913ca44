// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/model/checkpoint.h"
#include "core/report/json/json_writer.h"
#include "core/tensor/compute_choice.h"

#include <string_view>

namespace shardscope {

/// What every answer about one checkpoint says about where it looked.
struct AnswerContext {
    const Checkpoint& checkpoint;
    std::string path; ///< PATH as it was given
    std::string selectedFile; ///< name inside the tag folder when PATH was a file; else empty
    const ComputeChoice* compute = nullptr; ///< of verbs with arithmetic: what does it
};

/// Opens the JSON object: `schema` "shardscope/VERB/1", `path`, `checkpoint`, `tag`, and `selected` for a
/// file.
void beginAnswer(JsonWriter& json, std::string_view verb, const AnswerContext& context);
/// "compute" (compute_report.h), where there is something to say. Once the work is done: notes are part of
/// it.
void writeCompute(JsonWriter& json, const AnswerContext& context);
/// Closes it, ends the line and hands everything on.
void endAnswer(JsonWriter& json, const TextSink& sink);

/// The folder that relative paths of an answer start from: the tag folder, else the run folder.
std::string checkpointFolder(const Checkpoint& checkpoint);
/// {"dp": 0, "tp": 0, "pp": 0}
void writeRank(JsonWriter& json, std::string_view field, const RankCoordinate& rank);
void writeShape(JsonWriter& json, std::string_view field, const Shape& shape);
/// A file's name relative to the checkpoint, or null for kNoFile.
void writeFileName(JsonWriter& json, std::string_view field, const Checkpoint& checkpoint, FileId file);
/// The dtype a parameter's values have in the model itself, else that of its first state; "unknown" when
/// there is none.
DType modelDtype(const Checkpoint& checkpoint, ParamId param);
/// The dtype of one state: of the flat unit's, else of the tensor that is stored whole; Unknown when there is
/// neither.
DType stateDtype(const Checkpoint& checkpoint, ParamId param, std::string_view state);

} // namespace shardscope
