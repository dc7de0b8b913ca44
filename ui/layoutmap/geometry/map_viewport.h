// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/layoutmap/geometry/map_layout.h"
#include "ui/layoutmap/geometry/map_source.h"

#include <QObject>
#include <QPoint>
#include <QSize>

#include <memory>

namespace shardscope::ui {

/// What part of the map is on screen: whole ⊇ loaded ⊇ visible, and the selected block.
///
/// Owns the zoom, the scroll position and which sections are folded, for every child of the map view. Lives
/// on the GUI thread.
class MapViewport : public QObject
{
    Q_OBJECT
public:
    explicit MapViewport(QObject* parent = nullptr);

    /// A new map: fits it, unfolds its sections and forgets the selection.
    void setWhole(const std::vector<MapLayout::Size>& sections);
    void setWhole(uint64_t columns, uint32_t rows) { setWhole({{columns, rows}}); }
    /// The size of the visible part, in device pixels. A fitted map stays fitted.
    void setSize(const QSize& devicePixels, double pixelRatio);
    /// Device pixels above and below the rows of each section.
    void setMargins(int header, int footer);
    void setFolded(uint32_t section, bool folded);
    void toggleFolded(uint32_t section) { setFolded(section, !m_layout->isFolded(section)); }
    /// Folds all sections; unfolds them if any is folded.
    void toggleAllFolded();

    [[nodiscard]] const MapLayout& layout() const { return *m_layout; }
    /// The same for other threads; it does not change.
    [[nodiscard]] std::shared_ptr<const MapLayout> sharedLayout() const { return m_layout; }
    [[nodiscard]] const MapGeometry& geometry(uint32_t section = 0) const;
    [[nodiscard]] QSize size() const { return m_size; }
    [[nodiscard]] double pixelRatio() const { return m_pixelRatio; }
    [[nodiscard]] int64_t x() const { return m_x; }
    [[nodiscard]] int64_t y() const { return m_y; }
    [[nodiscard]] int64_t maximumX() const;
    [[nodiscard]] int64_t maximumY() const;

    [[nodiscard]] MapBlock whole(uint32_t section = 0) const;
    /// The part of a section that is on screen; without rows if none of them is.
    [[nodiscard]] MapBlock visible(uint32_t section = 0) const;
    /// The sections whose header or rows are on screen.
    [[nodiscard]] MapRange visibleSections() const;
    [[nodiscard]] bool isEmpty() const { return m_layout->contentHeight() == 0 || m_layout->columns() == 0; }
    /// The visible content pixels, and the same with one viewport around it, which is fetched ahead.
    [[nodiscard]] ContentRect visibleRect() const;
    [[nodiscard]] ContentRect loadedRect() const;
    [[nodiscard]] const MapBlock& selected() const { return m_selected; }
    void setSelected(const MapBlock& block);

    void scrollTo(int64_t x, int64_t y);
    void scrollBy(int64_t dx, int64_t dy) { scrollTo(m_x + dx, m_y + dy); }
    /// Zooms by ladder steps (positive: in); the point at `anchor` (device pixels) stays where it is.
    /// `section`: not further in than is of use for it.
    void zoomColumns(int steps, int anchor, std::optional<uint32_t> section = std::nullopt);
    void zoomRows(int levels, int anchor);

    /// Rows of a fitted map are at least so high, in logical pixels, even if they do not fit then.
    void setLeastRowHeight(int height);
    void fit();
    [[nodiscard]] bool isFitted() const { return m_fitted; }
    /// Fills the view with a block's elements; rows keep their height unless they would not fit.
    void zoomTo(const MapBlock& block);
    /// Scrolls, without zooming, so that the block's middle is the view's.
    void centre(const MapBlock& block);
    /// Scrolls, without zooming, so that the block's beginning is seen; centred when it was off screen.
    /// Unfolds its section. A fitted map whose size or sections change is fitted again, around the block.
    void reveal(const MapBlock& block);

    /// Device pixels of the view ↔ content.
    [[nodiscard]] uint64_t elementUnder(int viewX, uint32_t section = 0) const;
    /// The row at a pixel, inside its section; the last one below the content.
    [[nodiscard]] uint64_t rowUnder(int viewY) const;
    /// The element at a pixel of the view; empty in headers and outside the map.
    [[nodiscard]] std::optional<MapSource::Point> pointUnder(const QPoint& viewPosition) const;
    /// The section whose header is at a pixel of the view.
    [[nodiscard]] std::optional<uint32_t> headerUnder(int viewY) const;

Q_SIGNALS:
    /// Zoom, scroll position, size or folding changed.
    void changed();
    /// Sections were folded or unfolded, or their margins changed: pictures of the content are out of date.
    void rearranged();
    void selectedChanged();

private:
    void rearrange(MapLayout layout);
    template <class Change>
    void change(Change make);
    void applyFit();
    /// After another size, if the map is fitted.
    void fitAgain();
    /// Pixels of all rows, without headers and footers.
    [[nodiscard]] int64_t rowsHeight() const;
    [[nodiscard]] MapRowScale fittedRows(int tallest) const;
    void clampAndTell();

    std::shared_ptr<const MapLayout> m_layout = std::make_shared<const MapLayout>();
    static constexpr QSize kNoSize{1, 1}; ///< before the view was laid out
    QSize m_size = kNoSize;
    double m_pixelRatio = 1.0;
    int64_t m_x = 0;
    int64_t m_y = 0;
    int m_leastRowHeight = 0;
    bool m_fitted = true;
    MapBlock m_selected;
    std::optional<MapBlock> m_revealed; ///< what a fitted map was scrolled to, or will be when it has a size
};

} // namespace shardscope::ui
