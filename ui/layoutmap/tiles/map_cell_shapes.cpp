// SPDX-License-Identifier: Apache-2.0
#include "ui/layoutmap/tiles/map_cell_shapes.h"

#include <QPainter>

#include <algorithm>
#include <cmath>

namespace shardscope::ui {

namespace {

constexpr size_t kMaxShapes = 60'000;

struct Shape {
    QRectF box;
    MapCell cell;
    QRgb fill = 0;
};

/// One shape per fragment; empty if there would be too many.
std::vector<Shape> shapesOf(const MapRenderRequest& request)
{
    std::vector<Shape> shapes;
    const auto& geometry = request.geometry;
    const MapRowSampler sampler(
        *request.source, geometry, *request.palette, request.style, {request.x, request.width});
    const int height = geometry.rowScale().rowHeight();
    const int64_t right = std::min(request.x + request.width, geometry.contentWidth());
    const auto rows = geometry.rowsIn(request.y, request.y + request.height);
    for (uint64_t row = rows.begin; row < rows.end; ++row) {
        const auto number = static_cast<uint32_t>(row);
        const double top = static_cast<double>(geometry.rowScale().topEdge(row) - request.y);
        for (int64_t pixel = request.x; pixel < right;) {
            Shape shape;
            shape.cell = request.source->cellAt(number, geometry.elementAt(pixel));
            const int64_t end = std::max(geometry.scale().leftEdge(shape.cell.end), pixel + 1);
            shape.box = QRectF(static_cast<double>(pixel - request.x), top,
                static_cast<double>(std::min(end, right) - pixel), height - rowGap(height));
            shape.fill = sampler.fillOf(shape.cell, request.source->placeOf(number, shape.cell.begin).rank);
            if (shape.cell.kind != CellKind::Outside) {
                shapes.push_back(shape);
            }
            pixel = end;
            if (shapes.size() > kMaxShapes) {
                return {};
            }
        }
    }
    return shapes;
}

void paintShape(QPainter& painter, const Shape& shape, const MapPalette& palette, double unit)
{
    const QRectF& box = shape.box;
    switch (shape.cell.kind) {
    case CellKind::Param:
        painter.fillRect(box, QColor(shape.fill));
        break;
    case CellKind::NotYetRead:
        painter.fillRect(box, QColor(blended(palette.background, shape.fill, 70)));
        painter.setPen(QPen(QColor(blended(palette.background, shape.fill, 170)), unit, Qt::DotLine));
        painter.drawRect(box.adjusted(unit / 2, unit / 2, -unit / 2, -unit / 2));
        break;
    case CellKind::PaddingStored:
        painter.fillRect(box, QColor(palette.padding));
        painter.setPen(QPen(QColor(palette.paddingHatch), unit));
        paintHatch(painter, box, 6 * unit, false);
        break;
    case CellKind::PaddingImplied:
        painter.setPen(QPen(QColor(palette.paddingOutline), unit, Qt::DotLine));
        painter.drawRect(box.adjusted(unit / 2, unit / 2, -unit / 2, -unit / 2));
        break;
    case CellKind::Outside:
        break;
    case CellKind::Missing:
        painter.fillRect(box, QColor(blended(palette.background, palette.missing, 22)));
        painter.setPen(QPen(QColor(palette.missing), unit));
        paintHatch(painter, box, 8 * unit, false);
        paintHatch(painter, box, 8 * unit, true);
        break;
    }
    if (shape.cell.kind == CellKind::Param && box.width() >= kNarrowestFragment) {
        if (shape.cell.frozen) {
            painter.fillRect(QRectF(box.left(), box.top(), box.width(), 2 * unit),
                QColor(blended(shape.fill, palette.text, 150)));
        }
        if (shape.cell.shared) {
            for (const double x : {0.0, 2.0}) {
                painter.fillRect(QRectF(box.left() + x * unit, box.top(), unit, box.height()),
                    QColor(blended(shape.fill, palette.text, 170)));
            }
        }
        painter.fillRect(QRectF(box.right() - unit, box.top(), unit, box.height()),
            QColor(blended(shape.fill, palette.background, 190)));
    }
}

/// One outline around neighbours that all have findings, as on screen; the cross-hatch of what is missing
/// says more than an outline would.
void paintFindings(
    QPainter& painter, const std::vector<Shape>& shapes, const MapPalette& palette, double unit)
{
    const auto marked = [&](size_t i, double top) {
        return i < shapes.size() && shapes[i].box.top() == top && shapes[i].cell.severity >= 1
            && shapes[i].cell.kind != CellKind::Missing;
    };
    for (size_t i = 0; i < shapes.size(); ++i) {
        const QRectF& box = shapes[i].box;
        if (!marked(i, box.top())) {
            continue;
        }
        const bool error = shapes[i].cell.severity >= 2;
        const QColor colour(error ? palette.error : palette.warning);
        const double line = error ? 2 * unit : unit;
        painter.fillRect(QRectF(box.left(), box.top(), box.width(), line), colour);
        painter.fillRect(QRectF(box.left(), box.bottom() - line, box.width(), line), colour);
        if (i == 0 || !marked(i - 1, box.top())) {
            painter.fillRect(QRectF(box.left(), box.top(), line, box.height()), colour);
        }
        if (!marked(i + 1, box.top())) {
            painter.fillRect(QRectF(box.right() - line, box.top(), line, box.height()), colour);
        }
    }
}

} // namespace

void paintHatch(QPainter& painter, const QRectF& box, double apart, bool falling)
{
    // Counted from the picture's corner, so that the lines of neighbours meet.
    const double shift = falling ? -box.top() : box.bottom();
    double at = std::floor((box.left() - box.height() + shift) / apart) * apart - shift;
    for (; at < box.right(); at += apart) {
        const double from = std::max(at, box.left());
        const double to = std::min(at + box.height(), box.right());
        if (from >= to) {
            continue;
        }
        const double first = falling ? box.top() + (from - at) : box.bottom() - (from - at);
        const double last = falling ? box.top() + (to - at) : box.bottom() - (to - at);
        painter.drawLine(QPointF(from, first), QPointF(to, last));
    }
}

void paintCellShapes(QPainter& painter, const MapStackRequest& request)
{
    const MapRange sections = request.sections();
    for (uint64_t section = sections.begin; section < sections.end; ++section) {
        const auto piece = request.pieceOf(static_cast<uint32_t>(section));
        if (piece.request.height > 0) {
            painter.save();
            painter.translate(0, piece.top);
            paintCellShapes(painter, piece.request);
            painter.restore();
        }
    }
}

void paintCellShapes(QPainter& painter, const MapRenderRequest& request)
{
    const bool flat = request.geometry.rowScale().rowHeight() <= kTallestFlatRow * request.patternScale;
    const std::vector<Shape> shapes = flat ? std::vector<Shape>() : shapesOf(request);
    if (shapes.empty()) {
        painter.drawImage(0, 0, renderMap(request));
        return;
    }
    painter.save();
    painter.setBrush(Qt::NoBrush);
    for (const Shape& shape : shapes) {
        paintShape(painter, shape, *request.palette, request.patternScale);
    }
    paintFindings(painter, shapes, *request.palette, request.patternScale);
    painter.restore();
}

} // namespace shardscope::ui
