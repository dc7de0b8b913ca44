// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/layoutmap/tiles/map_tile_renderer.h"

class QPainter;
class QRectF;

namespace shardscope::ui {

/// Draws a part of the map as shapes, for drawings that can be enlarged: one rectangle per fragment and
/// pattern line, what is narrower than a pixel merged as on screen. Where rows are too thin to be told apart,
/// or shapes would be too many, the pixels of renderMap() are drawn instead. Any thread.
void paintCellShapes(QPainter& painter, const MapRenderRequest& request);

/// Lines at 45° with the painter's pen, cut at the box without clipping, which SVG painters do not know.
void paintHatch(QPainter& painter, const QRectF& box, double apart, bool falling);

} // namespace shardscope::ui
