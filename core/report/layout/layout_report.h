// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/layout/address.h"
#include "core/report/answers/answer.h"
#include "core/report/text/text_table.h"

#include <optional>

namespace shardscope {

/// What `layout` is asked for. Without a filter: who holds what, per group and rank.
struct LayoutQuestion {
    std::optional<RankCoordinate> rank; ///< that rank alone, with its fragments
    std::optional<ParamId> param; ///< the groups that hold it, with its fragments
};

/// "dp3" or "dp3.tp0.pp0". Usage when it is no rank, NotFound when the checkpoint has none such.
Result<RankCoordinate> parseRank(std::string_view text, const Checkpoint& checkpoint);

/// The answer of `layout`: groups with partition size, alignment and padding per rank, and the fragments
/// asked for.
void writeLayoutJson(const TextSink& sink, const AnswerContext& context, const LayoutQuestion& question);
void writeLayoutText(const TextSink& sink, const TextStyle& style, const AnswerContext& context,
    const LayoutQuestion& question);

/// The answer of `layout --address`: one place in all its spellings.
void writeLocationJson(
    const TextSink& sink, const AnswerContext& context, std::string_view asked, const Location& location);
void writeLocationText(
    const TextSink& sink, const TextStyle& style, std::string_view asked, const Location& location);

} // namespace shardscope
