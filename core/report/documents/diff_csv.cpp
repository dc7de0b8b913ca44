// SPDX-License-Identifier: Apache-2.0
#include "core/report/documents/diff_csv.h"

#include "core/report/answers/diff_words.h"
#include "core/report/text/csv_row.h"

#include <array>

namespace shardscope {

namespace {

enum Column : size_t {
    Kind,
    Param,
    State,
    IsCopy,
    Elements,
    Count,
    BeyondTolerance,
    LastBit,
    NotFinite,
    First,
    MaxAbs,
    RelL2,
    Cosine,
    Of,
    Name,
    Left,
    Right,
    WithoutGradient,
    WithUnitGradient,
    WeightsApart,
    Lacking,
    Columns,
};

constexpr std::array<std::string_view, Columns> kNames{"kind", "param", "state", "is_copy", "elements",
    "count", "beyond_tolerance", "last_bit", "not_finite", "first", "max_abs", "rel_l2", "cosine", "of",
    "name", "left", "right", "without_gradient", "with_unit_gradient", "weights_apart", "not_compared"};

using Cells = std::array<std::string, Columns>;

Cells cellsOf(std::string_view kind, const ParamDifference& param, std::string_view state)
{
    Cells cells;
    cells[Kind] = kind;
    cells[Param] = csvText(param.param.name);
    cells[State] = csvText(state);
    if (param.update) {
        cells[WithoutGradient] = csvNumber(param.update->withoutGradient);
        cells[WithUnitGradient] = csvNumber(param.update->withUnitGradient);
        cells[WeightsApart] = csvNumber(param.update->weightsApart);
    }
    return cells;
}

} // namespace

DiffCsv::DiffCsv(TextSink sink)
    : m_sink(std::move(sink))
{
    putCsvLine(m_sink, kNames);
}

void DiffCsv::addValues(const ParamDifference& param, const StateDifference& state)
{
    const Comparison& values = state.values;
    Cells cells = cellsOf(differenceKind(state), param, state.state.left);
    cells[IsCopy] = csvNumber(state.state.isCopy);
    cells[Elements] = csvNumber(values.elements);
    cells[Count] = csvNumber(values.different);
    cells[BeyondTolerance] = csvNumber(values.beyond);
    cells[LastBit] = csvNumber(values.lastBit);
    cells[NotFinite] = csvNumber(values.notFinite);
    cells[First] = csvNumber(values.firstDifferent);
    cells[MaxAbs] = csvNumber(values.maxAbsolute);
    cells[RelL2] = csvNumber(values.relativeL2());
    cells[Cosine] = csvNumber(values.cosine());
    cells[Left] = dtypeName(state.state.leftType);
    cells[Right] = dtypeName(state.state.rightType);
    putCsvLine(m_sink, cells);
}

void DiffCsv::addAlone(const ParamDifference& param, bool isRight, std::string_view state)
{
    putCsvLine(m_sink, cellsOf(isRight ? "only-right" : "only-left", param, state));
}

void DiffCsv::addPartial(const ParamDifference& param, const PartialState& state)
{
    Cells cells = cellsOf(differenceKind(state), param, state.state.left);
    cells[Elements] = csvNumber(param.param.elements - state.notCompared);
    cells[Lacking] = csvNumber(state.notCompared);
    putCsvLine(m_sink, cells);
}

void DiffCsv::addShape(const ParamDifference& param)
{
    putCsvLine(m_sink, cellsOf("shape", param, ""));
}

void DiffCsv::addScalar(const ScalarDifference& scalar)
{
    Cells cells;
    cells[Kind] = differenceKind(scalar);
    cells[Of] = scalarOwner(scalar.left);
    cells[Name] = csvText(scalar.left.name);
    cells[Left] = csvText(scalar.left.value);
    cells[Right] = csvText(scalar.right.value);
    putCsvLine(m_sink, cells);
}

} // namespace shardscope
