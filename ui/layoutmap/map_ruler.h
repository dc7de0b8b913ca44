// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/layoutmap/map_part.h"

#include <optional>
#include <vector>

namespace shardscope::ui {

enum class RulerUnit { Elements, Bytes };

/// Positions of ruler marks: multiples of a round step, so that marks stay where they are while scrolling.
struct RulerMarks {
    uint64_t step = 1; ///< elements between two labelled marks
    uint32_t parts = 1; ///< small marks divide the step into this many
    std::vector<uint64_t> positions; ///< elements with a label
};

/// Marks for [visible) that are at least `apartPixels` pixels apart. Steps are 1, 2 or 5 times a power of ten
/// elements, or powers of two bytes. Pure.
RulerMarks rulerMarks(
    const MapRange& visible, MapScale scale, int apartPixels, RulerUnit unit, uint32_t itemBytes);

/// "8.0 KiB", or "8,960 B" where marks are so close that rounded sizes would be the same.
QString rulerBytes(uint64_t bytes, uint64_t step);

/// The axis above the map, in elements or bytes of a rank's flat buffer; a click switches between the two. It
/// is that of one section: the one under the mouse, or else the selected one. Its name has the room above the
/// names of the ranks.
class MapRuler : public MapPart
{
    Q_OBJECT
public:
    explicit MapRuler(MapViewport* viewport, QWidget* parent = nullptr);

    /// Whose axis is shown, and the size of its elements. `title` and, in full, `axis` name it where a map
    /// has several sections.
    void setSection(uint32_t section, uint32_t itemBytes, const QString& title, const QString& axis);
    /// Where the cells begin.
    void setLeftEdge(int x);
    [[nodiscard]] uint32_t section() const { return m_section; }
    void setUnit(RulerUnit unit);
    [[nodiscard]] RulerUnit unit() const { return m_stack && m_stack->files() ? RulerUnit::Bytes : m_unit; }
    /// Places that the user marked; those of the section shown are seen.
    void setMarked(std::vector<MapSource::Point> places);
    /// The element under the mouse, marked on the axis.
    void setHovered(std::optional<uint64_t> element);
    [[nodiscard]] QSize sizeHint() const override;

protected:
    void paintEvent(QPaintEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;

private:
    void paintAxis(QPainter& painter) const;
    [[nodiscard]] QString labelOf(uint64_t element, uint64_t step) const;

    uint32_t m_itemBytes = 4;
    RulerUnit m_unit = RulerUnit::Elements;
    std::optional<uint64_t> m_hovered;
    std::vector<MapSource::Point> m_marked;
    uint32_t m_section = 0;
    QString m_title;
    int m_left = 0;
};

} // namespace shardscope::ui
