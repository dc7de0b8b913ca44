// SPDX-License-Identifier: Apache-2.0
#include "ui/layoutmap/geometry/map_text.h"

#include "core/base/text.h"
#include "core/layout/whole_units.h"
#include "ui/models/difference_list.h"
#include "ui/text/padding_text.h"
#include "ui/text/rank_list.h"
#include "ui/text/text.h"
#include "ui/text/unreadable.h"

#include <QStringList>

#include <algorithm>

namespace shardscope::ui {

namespace {

/// Whether ranks have rows of its tensors, and no flat buffer: a distributed checkpoint.
bool isSplitByRows(const FlatUnit& unit)
{
    return unit.kind == UnitKind::Whole && unit.partition.ranks() > 1;
}

/// "differs in 5 of 768 elements, by up to 0.01": all elements of a state.
QString valuesText(const StateDifference& difference)
{
    const Comparison& values = difference.values;
    const auto count = [](uint64_t number) { return countText(number); };
    if (values.notFinite > 0) {
        return MapText::tr("differs in %1 of %2 elements, %3")
            .arg(count(values.different), count(values.elements), notFiniteText(values));
    }
    const auto words = values.different == values.lastBit
        ? MapText::tr("differs in the last bit of %1 of %2 elements, by up to %3")
        : MapText::tr("differs in %1 of %2 elements, by up to %3");
    return words.arg(count(values.different), count(values.elements), differenceText(values.maxAbsolute));
}

/// "not compared: the right side lacks 96 of 192 elements".
QString notComparedText(const MarkedPiece& piece, uint64_t elements, bool isRight)
{
    const uint64_t left = isRight ? piece.lackingThere : piece.lackingHere;
    const uint64_t right = isRight ? piece.lackingHere : piece.lackingThere;
    if (left + right == 0) {
        return MapText::tr("not compared");
    }
    const QString side = left > 0 && right > 0 ? MapText::tr("both sides lack")
        : left > 0                             ? MapText::tr("the left side lacks")
                                               : MapText::tr("the right side lacks");
    const uint64_t most = std::max(left, right);
    return most >= elements
        ? MapText::tr("not compared: %1 these elements").arg(side)
        : MapText::tr("not compared: %1 %2 of %3 elements").arg(side, countText(most), countText(elements));
}

/// "dp 3", or how it is stored if no rank has it.
QString holderOf(const MapSource& source, const MapCell& cell, const MapSource::Place& place)
{
    const FlatUnit& unit = source.unitAt(cell.begin);
    return isStoredWhole(unit) ? MapText::tr("whole tensors")
                               : rankLabel(source.checkpoint(), source.checkpoint().rankOf(unit, place.rank));
}

std::optional<PaddingRun> paddingRun(
    const MapSource& source, const MapCell& cell, const MapSource::Place& place)
{
    if (cell.kind != CellKind::PaddingStored && cell.kind != CellKind::PaddingImplied) {
        return std::nullopt;
    }
    return paddingAt(source.unitAt(cell.begin), source.stateAt(cell.begin), place.rank, place.offset);
}

} // namespace

QString MapText::count(uint64_t count)
{
    return countText(count);
}

QString MapText::shortCount(uint64_t count)
{
    struct Unit {
        uint64_t size;
        const char* sign;
    };
    static constexpr Unit kUnits[]
        = {{1'000'000'000'000u, " T"}, {1'000'000'000u, " B"}, {1'000'000u, " M"}, {1'000u, " K"}};
    for (const auto& unit : kUnits) {
        if (count >= unit.size && count % (unit.size / 1000) == 0) {
            return QString::number(static_cast<double>(count) / static_cast<double>(unit.size), 'g', 6)
                + QLatin1String(unit.sign);
        }
    }
    return MapText::count(count);
}

QString MapText::kindName(CellKind kind)
{
    switch (kind) {
    case CellKind::Param:
        return tr("parameter");
    case CellKind::PaddingStored:
        return tr("padding, stored in the file");
    case CellKind::PaddingImplied:
        return tr("padding, in no file");
    case CellKind::Missing:
        return tr("missing");
    case CellKind::NotYetRead:
        return tr("not yet read");
    case CellKind::Outside:
        return tr("after the end of this rank's rows");
    }
    return {};
}

QString MapText::modeName(MapColourMode mode)
{
    switch (mode) {
    case MapColourMode::Kind:
        return tr("Kind");
    case MapColourMode::Parameter:
        return tr("Parameter");
    case MapColourMode::Layer:
        return tr("Layer");
    case MapColourMode::Rank:
        return tr("Rank");
    case MapColourMode::Difference:
        return tr("Difference");
    }
    return {};
}

QString MapText::headline(const MapSource& source, const MapCell& cell, uint32_t rank)
{
    const auto name = cell.param == kNoParam ? QString() : source.nameOf(cell.param);
    if (cell.kind == CellKind::Param) {
        return name;
    }
    const bool unreadable = cell.kind == CellKind::Missing
        && isUnreadable(source.checkpoint(), source.unitAt(cell.begin), rank);
    const QString kind = unreadable ? tr("unreadable") : kindName(cell.kind);
    return name.isEmpty() ? kind : tr("%1 (%2)").arg(name, kind);
}

QString MapText::storage(const MapSource& source, const MapCell& cell, MapSource::Place place)
{
    const auto [run, offset] = source.storedAt(cell, place);
    if (cell.kind == CellKind::PaddingImplied) {
        return tr("not stored: nothing to read");
    }
    if (!run.isPresent()) {
        return cell.kind == CellKind::NotYetRead ? tr("file not yet read")
            : isUnreadable(source.checkpoint(), source.unitAt(cell.begin), place.rank)
            ? tr("the file of this rank is unreadable")
            : tr("no file holds it");
    }
    const uint64_t size = itemSize(source.stateAt(cell.begin).dtype);
    if (run.record == StoredRun::kNoRecord) {
        return tr("%1 · %2").arg(
            toText(source.checkpoint().file(run.file).name), bytesText((cell.end - cell.begin) * size));
    }
    const uint64_t first = run.byteOffset + offset * size;
    const uint64_t bytes = (cell.end - cell.begin) * size;
    return tr("%1 · bytes %2 to %3 (%4)")
        .arg(toText(source.checkpoint().file(run.file).name), count(first), count(first + bytes),
            bytesText(bytes));
}

QString MapText::difference(const MapSource& source, const MapCell& cell, const DifferenceMarks& differences)
{
    if (cell.kind == CellKind::PaddingStored && differences.padding) {
        return tr("padding differs somewhere");
    }
    if (cell.param == kNoParam || cell.kind != CellKind::Param) {
        return {};
    }
    const std::string& state = source.stateAt(cell.begin).name;
    const uint64_t end = cell.paramOffset + (cell.end - cell.begin);
    const MarkedPiece piece = differences.ofPiece(cell.param, state, cell.paramOffset, end);
    const auto* found = differences.valuesOf(cell.param, state);
    switch (piece.mark) {
    case DifferenceMark::Equal:
        return found == nullptr ? tr("equal") : tr("equal here; elsewhere it %1").arg(valuesText(*found));
    case DifferenceMark::NotCompared:
        return notComparedText(piece, end - cell.paramOffset, differences.isRight);
    case DifferenceMark::OtherState:
        return inStates(
            tr("equal, but differs"), differences.differentStates(cell.param, cell.paramOffset, end));
    case DifferenceMark::OneSide: {
        const ParamDifference* param = differences.params[index(cell.param)];
        if (param != nullptr && param->param.isPaired() && !param->param.sameShape) {
            return tr("has another shape on the other side");
        }
        return differences.isRight ? tr("only right") : tr("only left");
    }
    case DifferenceMark::LastBit:
    case DifferenceMark::Values:
        break;
    }
    if (found == nullptr) {
        return tr("differs");
    }
    QString words = valuesText(*found);
    const bool isAll = piece.different.count == found->values.different
        && end - cell.paramOffset == found->values.elements;
    if (!piece.isWhole && !isAll) {
        words += (piece.different.isExact ? tr("; here in %1 of %2") : tr("; here in up to %1 of %2"))
                     .arg(count(piece.different.count), count(end - cell.paramOffset));
    }
    if (piece.lackingHere + piece.lackingThere > 0) {
        words += QStringLiteral("; ") + notComparedText(piece, end - cell.paramOffset, differences.isRight);
    }
    return words;
}

QString MapText::tooltip(const MapSource& source, MapSource::Point point, const DifferenceMarks* differences)
{
    const auto cell = source.cellAt(point.row, point.element);
    const auto place = source.placeOf(point.row, cell.begin);
    const uint64_t length = cell.end - cell.begin;
    if (source.files()) {
        return fileTooltip(source, point.row, inFile(source, point.row, cell).toHtmlEscaped());
    }
    QStringList lines;
    lines << QStringLiteral("<b>%1</b>").arg(headline(source, cell, place.rank).toHtmlEscaped());
    if (const auto words = differences == nullptr ? QString() : difference(source, cell, *differences);
        !words.isEmpty()) {
        lines << words.toHtmlEscaped();
    }
    if (cell.param != kNoParam) {
        const auto& param = source.checkpoint().params[index(cell.param)];
        const uint64_t here = cell.paramOffset + (point.element - cell.begin);
        const auto order = source.checkpoint().transposedOrder(cell.param);
        lines << (order ? tr("stored column by column: %1 to %2 of %3, here row %4, column %5")
                        : tr("elements %1 to %2 of %3, here %4"))
                     .arg(count(cell.paramOffset),
                         count(cell.paramOffset + std::max<uint64_t>(length, 1) - 1), count(param.elements));
        lines.back() = order ? lines.back().arg(count(here % order->rows), count(here / order->rows))
                             : lines.back().arg(count(here));
        QStringList marks;
        if (cell.frozen) {
            marks << tr("frozen");
        }
        if (cell.shared) {
            marks << tr("shared with another parameter");
        }
        if (!marks.isEmpty()) {
            lines << marks.join(QStringLiteral(", "));
        }
    }
    if (const auto run = paddingRun(source, cell, place)) {
        lines << paddingReason(source.checkpoint(), *run).toHtmlEscaped()
              << paddingShare(source.checkpoint(), *run);
    }
    const QString holder = holderOf(source, cell, place);
    lines << (isSplitByRows(source.unitAt(cell.begin))
            ? holder
            : tr("%1 · flat %2 to %3, here %4")
                  .arg(holder, count(place.offset), count(place.offset + length),
                      count(place.offset + (point.element - cell.begin))));
    if (cell.kind == CellKind::Outside) {
        return lines.join(QStringLiteral("<br>"));
    }
    lines << tr("%1, %2 · %3")
                 .arg(toText(source.stateAt(cell.begin).name),
                     toText(dtypeName(source.stateAt(cell.begin).dtype)),
                     storage(source, cell, place).toHtmlEscaped());
    if (cell.severity >= 1) {
        const QString what = inStates(cell.severity >= 2 ? tr("error here") : tr("warning here"),
            source.otherStatesWithWorst(point.row, point.row + 1, cell.begin, cell.end));
        lines << (cell.severity >= 2 ? tr("<b>%1</b>: see Findings") : tr("%1: see Findings"))
                     .arg(what.toHtmlEscaped());
    }
    return lines.join(QStringLiteral("<br>"));
}

QString MapText::sentence(const MapSource& source, MapSource::Point point, const DifferenceMarks* differences)
{
    const auto cell = source.cellAt(point.row, point.element);
    if (source.files()) {
        return rowName(source, point.row) + QStringLiteral(" · ") + inFile(source, point.row, cell);
    }
    const auto words = differences == nullptr ? QString() : difference(source, cell, *differences);
    const auto where = place(source, point, cell);
    return words.isEmpty() ? where : tr("%1 · %2").arg(words, where);
}

QString MapText::place(const MapSource& source, MapSource::Point point, const MapCell& cell)
{
    const auto place = source.placeOf(point.row, cell.begin);
    const uint64_t length = cell.end - cell.begin;
    const QString holder = holderOf(source, cell, place);
    if (cell.kind == CellKind::Outside) {
        return tr("%1: %2").arg(holder, kindName(cell.kind));
    }
    const auto where = isSplitByRows(source.unitAt(cell.begin))
        ? holder
        : tr("%1, flat %2 to %3").arg(holder, count(place.offset), count(place.offset + length));
    if (const auto run = paddingRun(source, cell, place)) {
        return tr("padding: %1 · %2").arg(paddingText(source.checkpoint(), *run), where);
    }
    if (cell.param == kNoParam || cell.kind != CellKind::Param) {
        return tr("%1: %2, %3").arg(headline(source, cell, place.rank), where, storage(source, cell, place));
    }
    const bool byColumns = source.checkpoint().transposedOrder(cell.param).has_value();
    return (byColumns ? tr("%1, %2 to %3 by columns, %4, %5") : tr("%1[%2:%3], %4, %5"))
        .arg(headline(source, cell, place.rank), count(cell.paramOffset), count(cell.paramOffset + length),
            where, storage(source, cell, place));
}

QString MapText::stateName(const MapSource& source, const MapCell& cell, uint32_t row)
{
    return toText(source.files()->states()[source.files()->extentAt(row, cell.begin).state]);
}

QString MapText::noState()
{
    return tr("no state");
}

QString MapText::inFile(const MapSource& source, uint32_t row, const MapCell& cell)
{
    const QString range = tr("bytes %1 to %2, %3")
                              .arg(countText(cell.begin), countText(std::max(cell.end, cell.begin + 1) - 1),
                                  bytesText(cell.end - cell.begin));
    switch (cell.kind) {
    case CellKind::Missing:
        return tr("The file is missing.");
    case CellKind::Outside:
        return tr("After the end of the file (%1)").arg(bytesText(source.files()->file(row).identity.bytes));
    case CellKind::PaddingStored:
        return tr("No state uses %1: pickle, directory, alignment or another record").arg(range);
    case CellKind::Param:
    case CellKind::PaddingImplied:
    case CellKind::NotYetRead:
        break;
    }
    const FileExtent& extent = source.files()->extentAt(row, cell.begin);
    const Checkpoint& checkpoint = source.checkpoint();
    QString what = stateName(source, cell, row);
    if (extent.param != kNoParam) {
        what = tr("%1 of %2").arg(what, toText(checkpoint.params[index(extent.param)].name));
    } else if (extent.unit != kNoUnit) {
        const FlatUnit& unit = checkpoint.units[index(extent.unit)];
        what = tr("%1 of %2 on %3")
                   .arg(what, unitText(unit), rankLabel(checkpoint, checkpoint.rankOf(unit, extent.share)));
    }
    return tr("%1: %2").arg(what, range);
}

QString MapText::fileTooltip(const MapSource& source, uint32_t row, const QString& place)
{
    const QString name = QStringLiteral("<b>%1</b><br>").arg(rowName(source, row).toHtmlEscaped());
    return name + (place.isEmpty() ? place : place + QStringLiteral("<br>"))
        + sum(source, source.amounts(row, 0, source.columns()));
}

QString MapText::sum(const MapSource& source, const MapQuery::Sum& of)
{
    if (!source.files()) {
        return sum(of);
    }
    const QString bytes = tr("%1 of %2 hold states").arg(bytesText(of.elements), bytesText(of.bytes));
    return of.files == 1 ? bytes : filesText(of.files) + QStringLiteral(" · ") + bytes;
}

QString MapText::sum(const MapQuery::Sum& sum)
{
    QStringList parts;
    parts << (sum.elements == 1 ? tr("1 element") : tr("%1 elements").arg(count(sum.elements)))
          << bytesText(sum.bytes);
    if (sum.padding > 0) {
        parts << tr("%1 padding").arg(count(sum.padding));
    }
    parts << parametersText(sum.params)
          << (sum.ranks == 1 ? tr("1 rank") : tr("%1 ranks").arg(count(sum.ranks))) << filesText(sum.files);
    return parts.join(QStringLiteral(" · "));
}

} // namespace shardscope::ui
