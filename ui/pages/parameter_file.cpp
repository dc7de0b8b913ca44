// SPDX-License-Identifier: Apache-2.0
#include "ui/pages/parameter_file.h"

#include "core/report/answers/params_report.h"
#include "core/report/text/csv_row.h"
#include "ui/text/rank_list.h"

#include <array>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

namespace {

constexpr std::array<std::string_view, 13> kColumns{"name", "shape", "elements", "bytes", "ranks",
    "first_rank", "last_rank", "padding", "dtype", "role", "group", "shared_with", "states"};

std::string rankCell(const ParameterIndex& index, ParamId id, uint32_t share)
{
    const Checkpoint& checkpoint = *index.checkpoint();
    const FlatUnit* unit = checkpoint.unitOf(id);
    if (unit == nullptr || index.facts(id).ranks() == 0)
        return {};
    return csvText(rankLabel(checkpoint, checkpoint.rankOf(*unit, share)).toStdString());
}

void putRow(const TextSink& sink, const ParameterIndex& table, ParamId id)
{
    const Checkpoint& checkpoint = *table.checkpoint();
    const Parameter& param = checkpoint.params[index(id)];
    const ParamFacts& facts = table.facts(id);
    const bool isAlias = param.sharedWith != kNoParam;
    const std::array<std::string, kColumns.size()> cells{csvText(param.name), csvText(shapeText(param.shape)),
        csvNumber(param.elements), csvNumber(facts.bytes),
        facts.ranks() == 0 ? std::string() : csvNumber(facts.ranks()), rankCell(table, id, facts.firstShare),
        rankCell(table, id, facts.lastShare), csvNumber(facts.padding),
        std::string(facts.dtype == DType::Unknown ? std::string_view() : dtypeName(facts.dtype)),
        std::string(paramRoleName(param.role)), param.group < 0 ? std::string() : csvNumber(param.group),
        isAlias ? csvText(checkpoint.params[index(param.sharedWith)].name) : std::string(),
        csvText(table.stateSets()[facts.states])};
    putCsvLine(sink, cells);
}

} // namespace

QString writeParameterTable(const ParameterTable& table, const SaveTarget& target)
{
    return saveText(target, [&](const TextSink& sink) {
        if (target.path.endsWith(u".json"_s, Qt::CaseInsensitive)) {
            const AnswerContext context{*table.index->checkpoint(), table.path.native(), {}};
            return writeParamsJson(sink, context, table.rows, table.filter.toStdString());
        }
        putCsvLine(sink, kColumns);
        for (const ParamId row : table.rows)
            putRow(sink, *table.index, row);
    });
}

} // namespace shardscope::ui
