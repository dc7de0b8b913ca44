// SPDX-License-Identifier: Apache-2.0
#include "ui/layoutmap/tiles/map_tile_renderer.h"

#include <algorithm>
#include <climits>

namespace shardscope::ui {

namespace {

/// One pixel row of one map row.
struct ScanLine {
    int64_t contentX;
    int64_t contentY;
    int yInRow; ///< 0 at the row's top
    int height; ///< of the row's body, without the gap
    int pattern; ///< device pixels per pattern pixel
    const MapPalette& palette;

    [[nodiscard]] bool isTopEdge() const { return yInRow < pattern; }
    [[nodiscard]] bool isBottomEdge() const { return yInRow >= height - pattern; }
    [[nodiscard]] bool hasBorders() const { return height > kTallestFlatRow; }
};

/// Diagonal stripes in content pixels, so that neighbouring tiles agree.
bool onDiagonal(const ScanLine& line, int64_t x, int period, int thickness)
{
    return (x / line.pattern + line.contentY / line.pattern) % period < thickness;
}

bool onCounterDiagonal(const ScanLine& line, int64_t x, int period, int thickness)
{
    const int64_t shift = x / line.pattern - line.contentY / line.pattern;
    return ((shift % period) + period) % period < thickness;
}

/// A zig-zag of eight pixels' period, repeated every six rows.
bool onZigZag(const ScanLine& line, int64_t x)
{
    const int64_t phase = x / line.pattern % 8;
    const int64_t wave = phase < 4 ? phase : 8 - phase;
    return (line.yInRow / line.pattern + wave) % 6 == 0;
}

/// Dots for the last bit, sparse and dark ones for what was not compared (paramColour), stripes for values,
/// wider ones for those of another state, level lines for parameters on one side only: no difference is shown
/// by its colour alone.
bool onDifferencePattern(const ScanLine& line, DifferenceMark mark, int64_t x)
{
    switch (mark) {
    case DifferenceMark::LastBit:
        return x / line.pattern % 4 == 0 && line.contentY / line.pattern % 4 == 0;
    case DifferenceMark::Values:
        return onDiagonal(line, x, 6, 1);
    case DifferenceMark::OtherState:
        return onDiagonal(line, x, 12, 1);
    case DifferenceMark::OneSide:
        return line.contentY / line.pattern % 4 == 0;
    case DifferenceMark::Equal:
    case DifferenceMark::NotCompared:
        break;
    }
    return false;
}

QRgb paramColour(const ScanLine& line, const MapPixel& pixel, int64_t x)
{
    const auto& palette = line.palette;
    if (onDifferencePattern(line, pixel.mark, x)) {
        return blended(pixel.fill, palette.background, 150);
    }
    if (pixel.mark == DifferenceMark::NotCompared && x / line.pattern % 5 == 0
        && line.contentY / line.pattern % 5 == 0) {
        return blended(pixel.fill, palette.mutedText, 150);
    }
    if (!line.hasBorders()) {
        return pixel.fill;
    }
    if ((pixel.flags & MapPixel::SharedEdge) != 0) {
        return blended(pixel.fill, palette.text, 170);
    }
    if ((pixel.flags & MapPixel::End) != 0) {
        return blended(pixel.fill, palette.background, 190);
    }
    if ((pixel.flags & MapPixel::Frozen) != 0 && line.yInRow < 2 * line.pattern) {
        return blended(pixel.fill, palette.text, 150);
    }
    if ((pixel.flags & MapPixel::Merged) != 0 && onZigZag(line, x)) {
        return blended(pixel.fill, palette.background, 90);
    }
    return pixel.fill;
}

QRgb notYetReadColour(const ScanLine& line, const MapPixel& pixel, int64_t x)
{
    const QRgb pale = blended(line.palette.background, pixel.fill, 70);
    const bool dot = x / line.pattern % 5 == 0 && line.contentY / line.pattern % 5 == 0;
    if (dot || (line.hasBorders() && (pixel.flags & MapPixel::End) != 0)) {
        return blended(line.palette.background, pixel.fill, 170);
    }
    return pale;
}

QRgb impliedPaddingColour(const ScanLine& line, const MapPixel& pixel, int64_t x)
{
    const auto& palette = line.palette;
    const bool dot = (x / line.pattern + line.contentY / line.pattern) % 3 == 0;
    if (!line.hasBorders()) {
        return dot ? blended(palette.background, palette.paddingOutline, 110) : palette.background;
    }
    const bool border
        = line.isTopEdge() || line.isBottomEdge() || (pixel.flags & (MapPixel::Start | MapPixel::End)) != 0;
    return border && dot ? palette.paddingOutline : palette.background;
}

QRgb colourOf(const ScanLine& line, const MapPixel& pixel, int64_t x)
{
    const auto& palette = line.palette;
    switch (pixel.kind) {
    case CellKind::Param:
        return paramColour(line, pixel, x);
    case CellKind::NotYetRead:
        return notYetReadColour(line, pixel, x);
    case CellKind::PaddingStored:
        if (line.hasBorders() && (pixel.flags & MapPixel::End) != 0) {
            return blended(palette.padding, palette.background, 190);
        }
        return onDiagonal(line, x, 6, 2)          ? palette.paddingHatch
            : pixel.mark != DifferenceMark::Equal ? differentPaddingColour(palette)
                                                  : palette.padding;
    case CellKind::PaddingImplied:
        return impliedPaddingColour(line, pixel, x);
    case CellKind::Missing:
        return onDiagonal(line, x, 8, 1) || onCounterDiagonal(line, x, 8, 1)
            ? palette.missing
            : blended(palette.background, palette.missing, line.hasBorders() ? 22 : 130);
    case CellKind::Outside:
        break;
    }
    return palette.background;
}

/// Of a pixel in a run of findings.
struct PlaceInRun {
    int distanceFromStart = 0; ///< negative: the start is not in the picture
    bool beforeEnd = false; ///< the pixel before the last one
};

/// An outline of two pixels and a triangle in the corner where a run of findings begins, stripes where rows
/// are thin; drawn last, over everything.
QRgb withFinding(const ScanLine& line, const MapPixel& pixel, int64_t x, const PlaceInRun& place, QRgb colour)
{
    const auto [distanceFromStart, beforeEnd] = place;
    if (pixel.kind == CellKind::Missing) {
        return colour; // the cross-hatch says more than an outline would
    }
    const QRgb mark = pixel.severity >= 2 ? line.palette.error : line.palette.warning;
    if (!line.hasBorders()) {
        const bool edge = (pixel.flags & (MapPixel::FindingStart | MapPixel::FindingEnd)) != 0;
        return edge || onDiagonal(line, x, 6, 3) ? mark : colour;
    }
    const int thickness = pixel.severity >= 2 ? 2 * line.pattern : line.pattern;
    const int slant = distanceFromStart < 0 ? INT_MAX : distanceFromStart + line.yInRow - 7 * line.pattern;
    const bool edge = line.yInRow < thickness || line.yInRow >= line.height - thickness
        || (pixel.flags & (MapPixel::FindingStart | MapPixel::FindingEnd)) != 0;
    if (edge || slant < 0) {
        return mark;
    }
    // A line of background inside the outline, so that it is seen on hues close to it.
    const bool inside = line.yInRow < thickness + line.pattern
        || line.yInRow >= line.height - thickness - line.pattern || slant < line.pattern
        || distanceFromStart == 1 || beforeEnd;
    return inside ? line.palette.background : colour;
}

void drawLine(const ScanLine& line, std::span<const MapPixel> pixels, QRgb* target)
{
    int distance = -1;
    for (size_t i = 0; i < pixels.size(); ++i) {
        const auto& pixel = pixels[i];
        const int64_t x = line.contentX + static_cast<int64_t>(i);
        QRgb colour = colourOf(line, pixel, x);
        if (pixel.severity >= 1) {
            const bool starts = (pixel.flags & MapPixel::FindingStart) != 0;
            distance = starts ? 0 : (distance < 0 ? -1 : distance + 1);
            const bool beforeEnd = i + 1 < pixels.size() && (pixels[i + 1].flags & MapPixel::FindingEnd) != 0;
            colour = withFinding(line, pixel, x, {distance, beforeEnd}, colour);
        } else {
            distance = -1;
        }
        target[i] = colour;
    }
}

/// Hair lines between elements that are wide enough to be separate.
std::vector<int> elementEdges(const MapRenderRequest& request)
{
    std::vector<int> edges;
    if (request.geometry.scale().pixelsPerElement() < 10.0 * request.patternScale) {
        return edges;
    }
    for (int x = 0; x < request.width; ++x) {
        const int64_t pixel = request.x + x;
        if (pixel > 0 && pixel < request.geometry.contentWidth()
            && request.geometry.scale().elementAt(pixel) != request.geometry.scale().elementAt(pixel - 1)) {
            edges.push_back(x);
        }
    }
    return edges;
}

void renderInto(const MapRenderRequest& request, QImage& image, int top)
{
    const auto& palette = *request.palette;
    MapRowSampler sampler(
        *request.source, request.geometry, palette, request.style, {request.x, request.width});
    const auto edges = elementEdges(request);
    const int rowHeight = std::max(request.geometry.rowScale().rowHeight(), 1);
    const int body = rowHeight - rowGap(rowHeight);
    const int64_t bottom = std::min(request.y + request.height, request.geometry.contentHeight());
    std::span<const MapPixel> pixels;
    MapRange current;
    for (int64_t y = request.y; y < bottom; ++y) {
        const auto rows = request.geometry.rowsAt(y);
        if (!(rows == current)) {
            pixels = sampler.sample(rows);
            current = rows;
        }
        const int yInRow = rowHeight > 1 ? static_cast<int>(y % rowHeight) : 0;
        if (yInRow >= body) {
            continue;
        }
        const ScanLine line{request.x, y, yInRow, body, request.patternScale, palette};
        auto* target = reinterpret_cast<QRgb*>(image.scanLine(top + static_cast<int>(y - request.y)));
        drawLine(line, pixels, target);
        for (const int x : edges) {
            target[x] = blended(target[x], palette.background, 120);
        }
    }
}

} // namespace

MapStackRequest::Piece MapStackRequest::pieceOf(uint32_t section) const
{
    const int64_t bodyTop = layout->bodyTop(section);
    const int64_t from = std::max(y, bodyTop);
    const int64_t to = std::min(y + height, bodyTop + layout->bodyHeight(section));
    Piece piece;
    piece.top = static_cast<int>(from - y);
    piece.request = {.source = stack->sourcePtr(section),
        .geometry = layout->section(section),
        .style = style,
        .palette = palette,
        .patternScale = patternScale,
        .x = x,
        .y = from - bodyTop,
        .width = width,
        .height = static_cast<int>(std::max<int64_t>(to - from, 0))};
    return piece;
}

MapRange MapStackRequest::sections() const
{
    const int64_t last = std::min(y + height, layout->contentHeight()) - 1;
    const auto first = layout->sectionAt(y);
    return first && last >= y ? MapRange{*first, layout->sectionAt(last).value_or(*first) + uint64_t{1}}
                              : MapRange{};
}

int rowGap(int rowHeight)
{
    if (rowHeight < 5) {
        return 0;
    }
    return rowHeight < 16 ? 1 : 2;
}

QImage renderMap(const MapRenderRequest& request)
{
    QImage image(request.width, request.height, QImage::Format_RGB32);
    image.fill(request.palette->background);
    renderInto(request, image, 0);
    return image;
}

QImage renderMap(const MapStackRequest& request)
{
    QImage image(request.width, request.height, QImage::Format_RGB32);
    image.fill(request.palette->background);
    const MapRange sections = request.sections();
    for (uint64_t section = sections.begin; section < sections.end; ++section) {
        const auto piece = request.pieceOf(static_cast<uint32_t>(section));
        if (piece.request.height > 0) {
            renderInto(piece.request, image, piece.top);
        }
    }
    return image;
}

} // namespace shardscope::ui
