// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/report/answers/answer.h"
#include "core/report/text/text_table.h"

#include <span>

namespace shardscope {

/// "trainable", "frozen", "buffer"; "weight" where nothing records whether it was trained.
std::string_view paramRoleName(const Checkpoint& checkpoint, const Parameter& parameter);

/// The answer of `params`: every parameter and buffer with shape, dtype, group and states, in the
/// checkpoint's order.
void writeParamsJson(const TextSink& sink, const AnswerContext& context);
/// These parameters in this order, with the `filter` that chose them; an empty one is left out.
void writeParamsJson(const TextSink& sink, const AnswerContext& context, std::span<const ParamId> params,
    std::string_view filter);
std::string paramsSchema();
void writeParamsText(const TextSink& sink, const TextStyle& style, const AnswerContext& context);

} // namespace shardscope
