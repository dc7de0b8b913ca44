// SPDX-License-Identifier: Apache-2.0
#pragma once

// Folder core/report/layout: the answers of the verb `layout`. Start with LayoutQuestion.

#include "core/layout/address.h"
#include "core/report/answers/answer.h"
#include "core/report/text/text_table.h"

#include <optional>

namespace shardscope {

/// The filters of `layout`. Without a filter: what each rank holds, per group.
struct LayoutQuestion {
    std::optional<RankCoordinate> rank; ///< only this rank, with its fragments
    std::optional<ParamId> param; ///< only groups with this parameter, with its fragments
};

/// "dp3" or "dp3.tp0.pp0". Usage if it is not a rank, NotFound if the checkpoint does not have this rank.
Result<RankCoordinate> parseRank(std::string_view text, const Checkpoint& checkpoint);

/// The answer of `layout`: groups with partition size, alignment and padding per rank, and the requested
/// fragments.
void writeLayoutJson(const TextSink& sink, const AnswerContext& context, const LayoutQuestion& question);
std::string layoutSchema();
void writeLayoutText(const TextSink& sink, const TextStyle& style, const AnswerContext& context,
    const LayoutQuestion& question);

/// The answer of `layout --address`: one position in all its notations.
void writeLocationJson(
    const TextSink& sink, const AnswerContext& context, std::string_view asked, const Location& location);
void writeLocationText(
    const TextSink& sink, const TextStyle& style, std::string_view asked, const Location& location);

} // namespace shardscope
