// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/layoutmap/geometry/map_stack.h"
#include "ui/models/difference_marks.h"

#include <QCoreApplication>
#include <QString>

namespace shardscope::ui {

/// Descriptions of places on the map, for tool tip, status bar and screen reader.
class MapText
{
    Q_DECLARE_TR_FUNCTIONS(shardscope::ui::MapText)
public:
    /// One fact per line: parameter, what differs where `differences` are shown, element range, rank, flat
    /// range, file and bytes.
    static QString tooltip(
        const MapSource& source, MapSource::Point point, const DifferenceMarks* differences = nullptr);
    /// The same in one line, for the status bar and QAccessible; the differences come first.
    static QString sentence(
        const MapSource& source, MapSource::Point point, const DifferenceMarks* differences = nullptr);
    /// "differs in 12 of 16 elements, by up to 0.00248; here in 3 of 4", "equal": of all elements of the
    /// parameter's state, and of those in the cell.
    static QString difference(
        const MapSource& source, const MapCell& cell, const DifferenceMarks& differences);
    /// Of a file: its name, a place in it and its sum.
    static QString fileTooltip(const MapSource& source, uint32_t row, const QString& place = {});
    /// The state of a cell of files; what others are.
    static QString stateName(const MapSource& source, const MapCell& cell, uint32_t row);
    static QString noState();
    /// "1,024 elements · 4.0 KiB · 3 parameters · 2 ranks · 2 files".
    static QString sum(const MapQuery::Sum& sum);
    /// The same; of files, "9 files · 1.2 MiB of 1.5 MiB hold states".
    static QString sum(const MapSource& source, const MapQuery::Sum& of);
    /// "Group 1, norms and biases without decay · sub-group 3", "Frozen parameters": the title of a section.
    static QString sectionName(const Checkpoint& checkpoint, const MapSectionContent& content);
    static QString sectionName(const MapSource& source);
    /// "sub-group 3", "group 1", "frozen": in a narrow column.
    static QString shortSectionName(const MapSource& source);
    /// "fp32 float32 · 12 parameters · 1.2 B elements · 4.5 GiB · 64 ranks · 12 padding (0.01 %)". Costs
    /// O(ranks).
    static QString sectionFacts(const MapSource& source);
    /// "×2,800" of an enlarged section, MapLayout::widening(), in two digits.
    static QString factor(double widening);
    /// "Group 1 ×2,800": the section whose axis is shown.
    static QString axisName(const MapSource& source, const MapLayout& layout);
    /// "101 elements: the section ends before this place", where the view is beyond the end of a section.
    static QString endsBefore(const MapSource& source);
    /// "dp 2 to dp 5, elements 100 to 2,000 of 4,096": a part of a section; what is on screen.
    static QString shown(const MapSource& source, const MapBlock& block);
    /// "error", "warning in exp_avg" if the state that is shown has none; empty if there is neither.
    static QString worst(const MapStack& stack);
    /// "State fp32 · 5 sections · 2 errors or warnings …": the whole map in one line.
    static QString whole(const MapStack& stack);
    /// "dp 3", "64 ranks" of all as one line, "whole": the row of a section that says itself which slice it
    /// is.
    static QString rowName(const MapSource& source, uint32_t row);
    static QString kindName(CellKind kind);
    static QString modeName(MapColourMode mode);
    /// "1.2 B", "34.5 M", "1,234": short forms for rulers and labels.
    static QString shortCount(uint64_t count);
    static QString count(uint64_t count);

private:
    /// "error here in exp_avg, exp_avg_sq"; without states, `what`.
    static QString inStates(const QString& what, const std::vector<std::string>& states);
    static QString sectionName(const Checkpoint& checkpoint, const FlatUnit& unit, uint8_t classes);
    /// "embeddings", "weights without decay": what a unit has, from the classes of its parameters, and its
    /// weight decay where the param groups differ in it.
    static QString groupWords(const Checkpoint& checkpoint, const FlatUnit& unit, uint8_t classes);
    /// "exp_avg of group 0 on dp 1: bytes 64 to 1,088, 1.0 KiB".
    static QString inFile(const MapSource& source, uint32_t row, const MapCell& cell);
    static QString place(const MapSource& source, MapSource::Point point, const MapCell& cell);
    static QString headline(const MapSource& source, const MapCell& cell, uint32_t rank);
    static QString storage(const MapSource& source, const MapCell& cell, MapSource::Place place);
};

} // namespace shardscope::ui
