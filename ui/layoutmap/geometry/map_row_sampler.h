// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/layoutmap/geometry/map_geometry.h"
#include "ui/layoutmap/geometry/map_source.h"
#include "ui/models/difference_marks.h"
#include "ui/models/map_palette.h"
#include "ui/models/param_marks.h"

#include <cstdint>
#include <span>
#include <vector>

namespace shardscope::ui {

/// The content of one pixel column of one row, before patterns.
struct MapPixel {
    enum Flag : uint8_t {
        Start = 1, ///< first pixel of a fragment that is wide enough to have borders
        End = 2, ///< last pixel of it
        Merged = 4, ///< represents runs too narrow to be drawn one by one
        Frozen = 8,
        SharedEdge = 16, ///< part of the double left edge of a tied parameter
        Dimmed = 32,
        FindingStart = 64,
        FindingEnd = 128,
    };

    QRgb fill = 0;
    CellKind kind = CellKind::Param;
    uint8_t flags = 0;
    int8_t severity = -1; ///< worst finding of all cells in the pixel
    DifferenceMark mark = DifferenceMark::Equal; ///< its pattern, where differences are shown
};

/// Options that change hues, apart from the theme.
struct MapStyle {
    MapColourMode mode = MapColourMode::Kind;
    uint8_t dimmedClasses = 0; ///< bit per ParamClass
    ParamMarks lit = nullptr; ///< parameters found by the filter; others are dimmed
    DifferenceMarksPtr differences = nullptr; ///< for MapColourMode::Difference
    bool operator==(const MapStyle&) const = default;
};

/// Runs narrower than this, in pixels, are merged with their neighbours.
inline constexpr int kNarrowestFragment = 3;

/// Pixel columns [x, x + width) of one picture.
struct MapColumns {
    int64_t x = 0;
    int width = 0;
};

/// Turns rows of the map into runs of pixels.
///
/// Where all rows have the same parameters at the same offsets, those are looked up once; a row then costs a
/// comparison per pixel. One per thread.
class MapRowSampler
{
public:
    MapRowSampler(const MapSource& source, const MapGeometry& geometry, const MapPalette& palette,
        MapStyle style, const MapColumns& columns);

    /// The pixels of the rows that share a pixel row: the middle row, or a missing one; the worst
    /// finding and the worst difference of all.
    std::span<const MapPixel> sample(const MapRange& rows);

    /// The colour of a cell before patterns: its class, name, layer or rank in the current mode; of files,
    /// its state.
    [[nodiscard]] QRgb fillOf(const MapCell& cell, uint32_t rank) const;

private:
    /// One parameter's slice in rows that are all alike.
    struct Column {
        MapCell cell;
        uint64_t paramElements = 0;
        QRgb fill = 0;
        DifferenceMark mark = DifferenceMark::Equal;
        bool hasPieces = false; ///< that differ in their marks
    };

    [[nodiscard]] uint32_t chooseRow(const MapRange& rows) const;
    void findColumns();
    void sampleCells(uint32_t row);
    void sampleColumns(uint32_t row, const MapRange& rows);
    /// Over the pixels of another row: those of elements whose difference is worse.
    void addDifferences(uint32_t row);
    [[nodiscard]] bool isDimmed(const MapCell& cell) const;
    /// `elements`: as many as the cell has, or more of the same parameter.
    [[nodiscard]] DifferenceMark markOf(const MapCell& cell, uint64_t elements) const;
    [[nodiscard]] DifferenceMark markOf(const MapCell& cell) const
    {
        return markOf(cell, cell.end - cell.begin);
    }
    [[nodiscard]] QRgb fillOf(const MapCell& cell, uint32_t rank, DifferenceMark mark) const;
    void paintRun(const MapCell& cell, QRgb fill, DifferenceMark mark);
    void markFindings(const MapRange& rows, int begin, int end);
    void markFindingEdges(const MapRange& rows);
    [[nodiscard]] int8_t severityOf(const MapRange& rows, int begin, int end) const;

    const MapSource& m_source;
    const MapGeometry& m_geometry;
    const MapPalette& m_palette;
    MapStyle m_style;
    bool m_isCompared = false; ///< the colours are those of differences, and the state was compared
    int64_t m_x;
    std::vector<MapPixel> m_pixels;
    std::vector<Column> m_columns;
};

} // namespace shardscope::ui
