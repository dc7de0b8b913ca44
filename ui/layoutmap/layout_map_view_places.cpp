// SPDX-License-Identifier: Apache-2.0
#include "ui/layoutmap/layout_map_view.h"

#include "ui/layoutmap/geometry/map_navigation.h"
#include "ui/layoutmap/map_header.h"
#include "ui/layoutmap/map_interaction.h"
#include "ui/layoutmap/map_menu.h"
#include "ui/layoutmap/map_pinned_rows.h"
#include "ui/layoutmap/map_ruler.h"
#include "ui/layoutmap/map_selection_link.h"

#include <QApplication>
#include <QClipboard>
#include <QMenu>

// What the view does with single places: pinned rows, marks, the context menu.

namespace shardscope::ui {

void LayoutMapView::pinRow(MapSource::Point row)
{
    if (projection() == MapQuery::Projection::Unrolled) {
        m_link->say(tr("All ranks are one line here. There is no row to pin."));
    } else if (!m_pinned->toggle(row)) {
        m_link->say(tr("No more than %1 rows can be pinned.").arg(MapPinnedRows::kMaxRows));
    }
}

void LayoutMapView::toggleMark(MapSource::Point point)
{
    if (m_canvas->stack()->files()) {
        m_link->say(tr("Marks are set on ranks. Press U to show them."));
        return;
    }
    m_bookmarks.toggle(m_canvas->stack()->sourceAt(point), point);
    showMarks();
}

void LayoutMapView::showMenu(const std::optional<MapSource::Point>& point,
    const std::optional<uint32_t>& header, const QPoint& globalPosition)
{
    auto* menu = new QMenu(this);
    menu->setObjectName(QStringLiteral("mapMenu"));
    menu->setAttribute(Qt::WA_DeleteOnClose);
    const auto section = point ? std::optional(point->section) : header;
    if (point) {
        const MapSource& source = m_canvas->stack()->sourceAt(*point);
        const ParamId param = m_canvas->stack()->cellAt(*point).param;
        if (param != kNoParam) {
            menu->addAction(tr("&Open Parameter"), this, [this, param] { Q_EMIT parameterActivated(param); });
            menu->addSeparator();
        }
        for (const MapCopy& copy : mapCopies(source, *point)) {
            menu->addAction(
                copy.title, this, [text = copy.text] { QApplication::clipboard()->setText(text); });
        }
        menu->addSeparator();
        menu->addAction(tr("&Zoom to Cell"), this,
            [this, block = cellBlock(source, *point)] { m_viewport->zoomTo(block); });
        menu->addAction(
            (source.files() ? tr("&Pin or Unpin File") : tr("&Pin or Unpin Rank")) + QStringLiteral("\tP"),
            this, [this, place = *point] { pinRow(place); });
        if (!source.files()) {
            menu->addAction(tr("Set or Remove &Mark") + QStringLiteral("\tM"), this,
                [this, place = *point] { toggleMark(place); });
        }
        menu->addSeparator();
    }
    if (section && m_canvas->stack()->count() > 1) {
        menu->addAction(
            tr("Show &Only This Section"), this, [this, number = *section] { setSection(number); });
        const bool folded = m_viewport->layout().isFolded(*section);
        menu->addAction((folded ? tr("Un&fold Section") : tr("&Fold Section")) + QStringLiteral("\tH"), this,
            [this, number = *section] { m_viewport->toggleFolded(number); });
    } else if (m_maker.subject().section && !isCompact()) {
        menu->addAction(tr("Show &Everything"), this, [this] { setSection(std::nullopt); });
    }
    menu->addAction(tr("F&it the Page") + QStringLiteral("\t0"), m_viewport, &MapViewport::fit);
    menu->popup(globalPosition);
}

void LayoutMapView::reveal(ParamId param)
{
    m_link->reveal(param);
}

void LayoutMapView::goToNextMark()
{
    auto* cursor = m_interaction->cursor();
    cursor->goTo(m_bookmarks.next(*m_canvas->stack(), cursor->place()), tr("No marks. Press M to set one."));
}

void LayoutMapView::showMarks()
{
    auto marks = m_canvas->marks();
    marks.dropped
        = m_canvas->stack() ? m_bookmarks.pointsOf(*m_canvas->stack()) : std::vector<MapSource::Point>{};
    m_canvas->setMarks(marks);
    m_ruler->setMarked(std::move(marks.dropped));
}

void LayoutMapView::setFilesShown(bool shown)
{
    if (shown != showsFiles()) {
        m_maker.subject().files = shown;
        showChoices();
        m_maker.make(false);
    }
}

void LayoutMapView::showChoices()
{
    m_header->show(m_maker.subject(), m_style.mode);
}

/// Ranks as rows, all as one line, files as rows, and again. Compact maps show ranks: theirs may be a plan's.
void LayoutMapView::switchProjection()
{
    if (!showsFiles() && projection() == MapQuery::Projection::Partitions) {
        setProjection(MapQuery::Projection::Unrolled);
    } else if (showsFiles() || isCompact()) {
        setProjection(MapQuery::Projection::Partitions);
    } else {
        setFilesShown(true);
    }
}

} // namespace shardscope::ui
