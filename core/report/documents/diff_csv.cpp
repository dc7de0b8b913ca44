// SPDX-License-Identifier: Apache-2.0
#include "core/report/documents/diff_csv.h"

#include "core/base/text.h"
#include "core/report/answers/diff_words.h"

#include <array>
#include <charconv>

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
    Columns,
};

constexpr std::array<std::string_view, Columns> kNames{"kind", "param", "state", "is_copy", "elements",
    "count", "beyond_tolerance", "last_bit", "not_finite", "first", "max_abs", "rel_l2", "cosine", "of",
    "name", "left", "right", "without_gradient", "with_unit_gradient", "weights_apart"};

using Cells = std::array<std::string, Columns>;

bool isNumber(std::string_view text)
{
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && end == text.data() + text.size();
}

std::string textCell(std::string_view raw)
{
    std::string text = isValidUtf8(raw) ? std::string(raw) : toValidUtf8(raw);
    // Spreadsheets skip blanks before a formula.
    const size_t first = text.find_first_not_of(" \t\r\n");
    if (first != std::string::npos && std::string_view("=+-@").find(text[first]) != std::string_view::npos
        && !isNumber(text))
        text.insert(text.begin(), '\'');
    if (text.find_first_of(",\"\r\n") == std::string::npos)
        return text;
    std::string out = "\"";
    for (const char c : text) {
        out += c;
        if (c == '"')
            out += c;
    }
    return out + '"';
}

/// As in JSON, but NaN and infinities have no quotation marks.
template <class Number>
std::string numberCell(const Number& number)
{
    std::string text = jsonText([&](JsonWriter& json) { json.value(number); });
    std::erase(text, '"');
    return text == "null" ? std::string() : text;
}

void put(const TextSink& sink, const Cells& cells)
{
    std::string line;
    for (size_t i = 0; i < cells.size(); ++i) {
        line += i == 0 ? "" : ",";
        line += cells[i];
    }
    sink(line + '\n');
}

Cells cellsOf(std::string_view kind, const ParamDifference& param, std::string_view state)
{
    Cells cells;
    cells[Kind] = kind;
    cells[Param] = textCell(param.param.name);
    cells[State] = textCell(state);
    if (param.update) {
        cells[WithoutGradient] = numberCell(param.update->withoutGradient);
        cells[WithUnitGradient] = numberCell(param.update->withUnitGradient);
        cells[WeightsApart] = numberCell(param.update->weightsApart);
    }
    return cells;
}

} // namespace

DiffCsv::DiffCsv(TextSink sink)
    : m_sink(std::move(sink))
{
    Cells names;
    for (size_t i = 0; i < names.size(); ++i)
        names[i] = kNames[i];
    put(m_sink, names);
}

void DiffCsv::addValues(const ParamDifference& param, const StateDifference& state)
{
    const Comparison& values = state.values;
    Cells cells = cellsOf(differenceKind(state), param, state.state.left);
    cells[IsCopy] = numberCell(state.state.isCopy);
    cells[Elements] = numberCell(values.elements);
    cells[Count] = numberCell(values.different);
    cells[BeyondTolerance] = numberCell(values.beyond);
    cells[LastBit] = numberCell(values.lastBit);
    cells[NotFinite] = numberCell(values.notFinite);
    cells[First] = numberCell(values.firstDifferent);
    cells[MaxAbs] = numberCell(values.maxAbsolute);
    cells[RelL2] = numberCell(values.relativeL2());
    cells[Cosine] = numberCell(values.cosine());
    cells[Left] = dtypeName(state.state.leftType);
    cells[Right] = dtypeName(state.state.rightType);
    put(m_sink, cells);
}

void DiffCsv::addAlone(const ParamDifference& param, bool isRight, std::string_view state)
{
    put(m_sink, cellsOf(isRight ? "only-right" : "only-left", param, state));
}

void DiffCsv::addShape(const ParamDifference& param)
{
    put(m_sink, cellsOf("shape", param, ""));
}

void DiffCsv::addScalar(const ScalarDifference& scalar)
{
    Cells cells;
    cells[Kind] = differenceKind(scalar);
    cells[Of] = scalarOwner(scalar.left);
    cells[Name] = textCell(scalar.left.name);
    cells[Left] = textCell(scalar.left.value);
    cells[Right] = textCell(scalar.right.value);
    put(m_sink, cells);
}

} // namespace shardscope
