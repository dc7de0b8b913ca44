// SPDX-License-Identifier: Apache-2.0
#include "ui/layoutmap/geometry/map_row_sampler.h"

#include <algorithm>
#include <array>
#include <bit>

namespace shardscope::ui {

namespace {

/// Patterns of states in files, so that states differ without their hues. They are the patterns of
/// differences. The legend has the same order.
constexpr std::array kStatePatterns{
    DifferenceMark::Equal, DifferenceMark::LastBit, DifferenceMark::Values, DifferenceMark::OneSide};

} // namespace

MapRowSampler::MapRowSampler(const MapSource& source, const MapGeometry& geometry, const MapPalette& palette,
    MapStyle style, const MapColumns& columns)
    : m_source(source)
    , m_geometry(geometry)
    , m_palette(palette)
    , m_style(source.files() ? MapStyle{} : std::move(style))
    , m_x(columns.x)
{
    if (m_style.mode == MapColourMode::Difference && m_style.differences)
        m_isCompared = m_style.differences->ofState(source.state().name) != nullptr;
    const int64_t visible = std::clamp<int64_t>(geometry.contentWidth() - columns.x, 0, columns.width);
    m_pixels.resize(static_cast<size_t>(visible));
    if (source.hasEqualRows()) {
        findColumns();
    }
}

std::span<const MapPixel> MapRowSampler::sample(const MapRange& rows)
{
    std::fill(m_pixels.begin(), m_pixels.end(), MapPixel{.fill = m_palette.background});
    if (rows.isEmpty() || m_pixels.empty()) {
        return {};
    }
    const uint32_t row = chooseRow(rows);
    if (m_columns.empty()) {
        sampleCells(row);
    } else {
        sampleColumns(row, rows);
    }
    // Where all rows are alike, theirs are neighbours in the parameter.
    const bool isUniform = !m_isCompared || std::has_single_bit(m_style.differences->present);
    for (uint64_t other = rows.begin; !isUniform && m_columns.empty() && other < rows.end; ++other) {
        if (other != row)
            addDifferences(static_cast<uint32_t>(other));
    }
    markFindings(rows, 0, static_cast<int>(m_pixels.size()));
    markFindingEdges(rows);
    return m_pixels;
}

uint32_t MapRowSampler::chooseRow(const MapRange& rows) const
{
    const auto middle = static_cast<uint32_t>(rows.begin + rows.size() / 2);
    if (rows.size() == 1
        || !m_source.anyMissing(static_cast<uint32_t>(rows.begin), static_cast<uint32_t>(rows.end))) {
        return middle;
    }
    // A missing rank must not be hidden by its neighbours; it has priority over one that is not read yet.
    uint32_t chosen = middle;
    for (auto row = static_cast<uint32_t>(rows.begin); row < rows.end; ++row) {
        if (m_source.anyMissing(row, row + 1)) {
            chosen = row;
            if (m_source.cellAt(row, m_geometry.elementAt(m_x)).kind == CellKind::Missing) {
                break;
            }
        }
    }
    return chosen;
}

QRgb MapRowSampler::fillOf(const MapCell& cell, uint32_t rank) const
{
    return fillOf(cell, rank, markOf(cell));
}

QRgb MapRowSampler::fillOf(const MapCell& cell, uint32_t rank, DifferenceMark mark) const
{
    QRgb fill = m_palette.padding;
    if (const FileRows* files = m_source.files(); files && cell.kind == CellKind::Param) {
        return m_palette.hues[FileRows::hueOf(files->extentAt(rank, cell.begin).state)];
    }
    if (cell.param == kNoParam) {
        return fill;
    }
    if (m_style.mode == MapColourMode::Difference) {
        fill = differenceColour(m_palette, mark, m_style.differences && m_style.differences->isRight);
    }
    if (m_style.mode == MapColourMode::Rank) {
        fill = m_palette.hues[rank % m_palette.hues.size()];
    } else if (m_style.mode == MapColourMode::Parameter) {
        fill = m_palette.hues[m_source.hueOf(cell.param)];
    } else if (m_style.mode == MapColourMode::Layer && m_source.layerOf(cell.param) != MapSource::kNoLayer) {
        const auto layer = uint64_t{m_source.layerOf(cell.param)} * (m_palette.sequence.size() - 1) * 255;
        const auto position = layer / std::max<uint64_t>(m_source.highestLayer(), 1);
        const auto stop = std::min<size_t>(position / 255, m_palette.sequence.size() - 2);
        fill = blended(
            m_palette.sequence[stop], m_palette.sequence[stop + 1], static_cast<int>(position - stop * 255));
    } else if (m_style.mode == MapColourMode::Kind) {
        fill = m_palette.classes[static_cast<size_t>(cell.paramClass)];
    }
    if (cell.frozen && m_style.mode != MapColourMode::Difference) {
        fill = desaturated(fill);
    }
    if (isDimmed(cell)) {
        fill = blended(fill, m_palette.background, 200);
    }
    return fill;
}

bool MapRowSampler::isDimmed(const MapCell& cell) const
{
    return (m_style.dimmedClasses >> static_cast<unsigned>(cell.paramClass) & 1u) != 0
        || (cell.param != kNoParam && !isMarked(m_style.lit, cell.param));
}

DifferenceMark MapRowSampler::markOf(const MapCell& cell, uint64_t elements) const
{
    if (m_style.mode == MapColourMode::Difference && cell.kind == CellKind::PaddingStored)
        return m_style.differences && m_style.differences->padding ? DifferenceMark::Values
                                                                   : DifferenceMark::Equal;
    if (m_style.mode != MapColourMode::Difference || cell.param == kNoParam)
        return DifferenceMark::Equal;
    return m_isCompared
        ? m_style.differences
              ->ofPiece(cell.param, m_source.state().name, cell.paramOffset, cell.paramOffset + elements)
              .mark
        : DifferenceMark::NotCompared;
}

void MapRowSampler::findColumns()
{
    const int64_t end = m_x + static_cast<int64_t>(m_pixels.size());
    for (int64_t pixel = m_x; pixel < end;) {
        // Rank 0 holds no padding: its cell is the whole slice.
        Column column;
        column.cell = m_source.cellAt(0, m_geometry.elementAt(pixel));
        if (column.cell.param == kNoParam) {
            m_columns.clear();
            return;
        }
        column.paramElements = m_source.checkpoint().params[index(column.cell.param)].elements;
        column.mark = markOf(column.cell);
        column.fill = fillOf(column.cell, 0, column.mark);
        column.hasPieces = m_isCompared && !m_style.differences->isUniform(column.cell.param);
        pixel = std::max(m_geometry.scale().leftEdge(column.cell.end), pixel + 1);
        m_columns.push_back(column);
    }
}

void MapRowSampler::sampleColumns(uint32_t row, const MapRange& rows)
{
    CellKind whole = CellKind::Param;
    if (m_source.anyMissing(row, row + 1)) {
        whole = m_source.cellAt(row, m_geometry.elementAt(m_x)).kind;
        if (whole == CellKind::Missing) {
            paintRun({.kind = whole, .begin = 0, .end = m_geometry.columns()}, m_palette.missing,
                DifferenceMark::Equal);
            return;
        }
    } else if (m_source.state().perRank[row].elements < m_geometry.columns()) {
        sampleCells(row); // a shard that ends early follows no column
        return;
    }
    const bool byRank = m_style.mode == MapColourMode::Rank;
    for (const auto& column : m_columns) {
        MapCell cell = column.cell;
        const uint64_t slice = cell.end - cell.begin;
        const uint64_t before = slice * row;
        const uint64_t payload
            = std::min(slice, column.paramElements - std::min(before, column.paramElements));
        cell.kind = whole;
        cell.end = cell.begin + payload;
        if (payload > 0 && column.hasPieces) { // the rows have consecutive elements
            const uint64_t last = std::min(slice * rows.end, column.paramElements);
            cell.paramOffset = slice * rows.begin;
            const DifferenceMark mark = markOf(cell, last - cell.paramOffset);
            paintRun(cell, fillOf(cell, row, mark), mark);
        } else if (payload > 0) {
            paintRun(cell, byRank ? fillOf(cell, row, column.mark) : column.fill, column.mark);
        }
        if (payload < slice) {
            paintRun({.kind = whole == CellKind::Param ? CellKind::PaddingStored : whole,
                         .begin = cell.end,
                         .end = cell.begin + slice},
                m_palette.padding, markOf({.kind = CellKind::PaddingStored}, 0));
        }
    }
}

void MapRowSampler::sampleCells(uint32_t row)
{
    const int64_t end = m_x + static_cast<int64_t>(m_pixels.size());
    for (int64_t pixel = m_x; pixel < end;) {
        const auto cell = m_source.cellAt(row, m_geometry.elementAt(pixel));
        if (cell.kind != CellKind::Outside) {
            const DifferenceMark mark = markOf(cell);
            paintRun(cell, fillOf(cell, m_source.placeOf(row, cell.begin).rank, mark), mark);
        }
        const int64_t next = std::max(m_geometry.scale().leftEdge(cell.end), pixel + 1);
        if (m_source.files() && cell.kind == CellKind::Param) {
            const uint32_t state = m_source.files()->extentAt(row, cell.begin).state;
            for (int64_t x = pixel; x < std::min(next, end); ++x) {
                m_pixels[static_cast<size_t>(x - m_x)].mark = kStatePatterns[state % kStatePatterns.size()];
            }
        }
        pixel = next;
    }
}

void MapRowSampler::addDifferences(uint32_t row)
{
    const int64_t end = m_x + static_cast<int64_t>(m_pixels.size());
    for (int64_t pixel = m_x; pixel < end;) {
        const auto cell = m_source.cellAt(row, m_geometry.elementAt(pixel));
        const int64_t next = std::min(end, std::max(m_geometry.scale().leftEdge(cell.end), pixel + 1));
        const DifferenceMark mark = cell.kind == CellKind::Param ? markOf(cell) : DifferenceMark::Equal;
        for (; mark != DifferenceMark::Equal && pixel < next; ++pixel) {
            MapPixel& shown = m_pixels[static_cast<size_t>(pixel - m_x)];
            if (shown.kind != CellKind::Param || worseMark(shown.mark, mark) == shown.mark)
                continue;
            shown.mark = mark;
            shown.fill = fillOf(cell, m_source.placeOf(row, cell.begin).rank, mark);
        }
        pixel = next;
    }
}

void MapRowSampler::paintRun(const MapCell& cell, QRgb fill, DifferenceMark mark)
{
    const int64_t left = m_geometry.scale().leftEdge(cell.begin) - m_x;
    const int64_t right = m_geometry.scale().leftEdge(cell.end) - m_x;
    const auto count = static_cast<int64_t>(m_pixels.size());
    uint8_t flags = cell.frozen ? MapPixel::Frozen : 0;
    if (isDimmed(cell)) {
        flags |= MapPixel::Dimmed;
    }
    const bool narrow = right - left < kNarrowestFragment;
    if (narrow) {
        flags |= MapPixel::Merged;
    }
    for (int64_t x = std::max<int64_t>(left, 0); x < std::min(right, count); ++x) {
        m_pixels[static_cast<size_t>(x)] = {.fill = fill, .kind = cell.kind, .flags = flags, .mark = mark};
    }
    if (narrow) {
        return;
    }
    const auto set = [&](int64_t x, MapPixel::Flag flag) {
        if (x >= 0 && x < count) {
            m_pixels[static_cast<size_t>(x)].flags |= flag;
        }
    };
    set(left, MapPixel::Start);
    set(right - 1, MapPixel::End);
    if (cell.shared && right - left >= 6) {
        set(left, MapPixel::SharedEdge);
        set(left + 2, MapPixel::SharedEdge);
    }
}

int8_t MapRowSampler::severityOf(const MapRange& rows, int begin, int end) const
{
    const auto elements = m_geometry.elementsIn(m_x + begin, m_x + end);
    return m_source.worstSeverity(
        static_cast<uint32_t>(rows.begin), static_cast<uint32_t>(rows.end), elements.begin, elements.end);
}

void MapRowSampler::markFindings(const MapRange& rows, int begin, int end)
{
    // Halves without findings need one query; the depth is the logarithm of the width.
    const int8_t worst = severityOf(rows, begin, end);
    if (worst < 0) {
        return;
    }
    if (end - begin == 1) {
        m_pixels[static_cast<size_t>(begin)].severity = worst;
        return;
    }
    const int middle = begin + (end - begin) / 2;
    markFindings(rows, begin, middle);
    markFindings(rows, middle, end);
}

void MapRowSampler::markFindingEdges(const MapRange& rows)
{
    const auto count = static_cast<int>(m_pixels.size());
    const bool before = m_x > 0 && severityOf(rows, -1, 0) >= 0;
    const bool after = m_x + count < m_geometry.contentWidth() && severityOf(rows, count, count + 1) >= 0;
    for (int x = 0; x < count; ++x) {
        auto& pixel = m_pixels[static_cast<size_t>(x)];
        if (pixel.severity < 0) {
            continue;
        }
        const bool open = x > 0 ? m_pixels[static_cast<size_t>(x - 1)].severity >= 0 : before;
        const bool goesOn = x + 1 < count ? m_pixels[static_cast<size_t>(x + 1)].severity >= 0 : after;
        pixel.flags |= open ? 0 : MapPixel::FindingStart;
        pixel.flags |= goesOn ? 0 : MapPixel::FindingEnd;
    }
}

} // namespace shardscope::ui
