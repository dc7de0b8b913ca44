// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/report/answers/answer.h"
#include "core/report/text/text_table.h"

namespace shardscope {

/// The answer of `inspect`: what it is, with evidence.
void writeInspectJson(const TextSink& sink, const AnswerContext& context);
std::string inspectSchema();
void writeInspectText(const TextSink& sink, const TextStyle& style, const AnswerContext& context);

} // namespace shardscope
