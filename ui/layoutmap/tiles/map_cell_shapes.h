// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/layoutmap/tiles/map_tile_renderer.h"

class QPainter;
class QRectF;

namespace shardscope::ui {

/// Draws a part of the map as shapes, for drawings that can be enlarged: one rectangle per fragment and
/// pattern line. Fragments narrower than a pixel are merged as on screen. If rows are too thin to
/// distinguish, or there are too many shapes, the pixels of renderMap() are drawn instead. Any thread.
void paintCellShapes(QPainter& painter, const MapRenderRequest& request);
/// The same with all sections; headers are left out.
void paintCellShapes(QPainter& painter, const MapStackRequest& request);

/// Lines at 45° with the painter's pen, shortened to the box because SVG painters do not support clipping.
void paintHatch(QPainter& painter, const QRectF& box, double apart, bool falling);

} // namespace shardscope::ui
