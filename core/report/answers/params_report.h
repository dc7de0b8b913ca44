// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/report/answers/answer.h"
#include "core/report/text/text_table.h"

namespace shardscope {

/// "trainable", "frozen", "buffer".
std::string_view paramRoleName(ParamRole role);

/// The answer of `params`: every parameter and buffer with shape, dtype, group and states, in the
/// checkpoint's order.
void writeParamsJson(const TextSink& sink, const AnswerContext& context);
void writeParamsText(const TextSink& sink, const TextStyle& style, const AnswerContext& context);

} // namespace shardscope
