// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/describe/json_writer.h"
#include "core/engine/parts/emit.h"
#include "core/report/text/text_table.h"

#include <string>

namespace shardscope {

/// The answer of `emit`. `sums`: whether it has what combineEmitted() needs.
void writeEmittedJson(const TextSink& sink, const Emitted& emitted, bool sums);
void writeEmittedText(const TextSink& sink, const TextStyle& style, const Emitted& emitted);
/// The answer of `emit --combine`.
void writeEmittedSumJson(const TextSink& sink, const EmittedSum& sum);
void writeEmittedSumText(const TextSink& sink, const TextStyle& style, const EmittedSum& sum);
std::string emitSchema();

/// Reads the answer of `emit --digest`. Damaged if the text is another one.
Result<Emitted> parseEmitted(const std::string& text, const std::string& path);

} // namespace shardscope
