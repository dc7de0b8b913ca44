// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/compare/health/health_alarms.h"
#include "core/report/answers/answer.h"
#include "core/report/text/text_table.h"

namespace shardscope {

/// What `stats --health` answers.
struct HealthAnswer {
    const AnswerContext& context;
    TagHealth tag;
    std::vector<HealthRow> params; ///< if they were asked for
    std::vector<TagHealth> history; ///< tags of the run, oldest first; empty if not asked for
    std::vector<HealthAlarm> alarms;
    bool hasParams = false;
    bool hasHistory = false;
    uint64_t tagsOmitted = 0; ///< of the run, which are not in `history`
};

void writeHealthJson(const TextSink& sink, const HealthAnswer& answer);
std::string healthSchema();
void writeHealthText(const TextSink& sink, const TextStyle& style, const HealthAnswer& answer);
/// "adam", "lion", …; empty for Unknown.
std::string_view updateKindName(UpdateKind kind);

} // namespace shardscope
