// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/layoutmap/geometry/map_stack.h"
#include "ui/layoutmap/geometry/map_viewport.h"
#include "ui/models/map_palette.h"

#include <QFont>
#include <QRect>

#include <functional>
#include <vector>

class QFontMetrics;
class QPainter;

namespace shardscope::ui {

/// The strips above the sections of a map: title, factor of an enlarged section and facts over the cells, the
/// sign for folding in the column of the ranks. Below the strip of an enlarged section is a broken line: its
/// scale is not the map's. GUI thread.
class MapSectionHeaders
{
public:
    explicit MapSectionHeaders(const MapViewport* viewport);

    /// What titles and facts are of; strips and signs need no stack.
    void setStack(MapStackPtr stack);
    void setMapPalette(std::shared_ptr<const MapPalette> palette) { m_palette = std::move(palette); }
    /// Device pixels that a strip needs with this font.
    [[nodiscard]] static int heightFor(const QFont& font, double pixelRatio);

    /// Title and facts; the painter counts device pixels from the left top corner of the cells.
    void paintTitles(QPainter& painter, const QFont& font, int width);
    /// Only the strips, `width` device pixels wide; `fill` may paint on each.
    void paintStrips(QPainter& painter, int width, const std::function<void(const QRect& strip)>& fill) const;
    /// With the signs.
    void paintSigns(QPainter& painter, int width) const;

private:
    template <class Paint>
    void forEachStrip(Paint paint) const;
    void fillStrip(QPainter& painter, const QRect& strip) const;
    void paintBreak(QPainter& painter, const QRect& strip) const;
    /// A plate with the factor at `left`; its width.
    [[nodiscard]] int paintFactor(
        QPainter& painter, const QFontMetrics& metrics, const QRect& strip, int left, double factor) const;

    const MapViewport* m_viewport;
    MapStackPtr m_stack;
    std::shared_ptr<const MapPalette> m_palette;
    std::vector<QString> m_names; ///< per section; empty until it is painted
    std::vector<QString> m_facts;
};

} // namespace shardscope::ui
