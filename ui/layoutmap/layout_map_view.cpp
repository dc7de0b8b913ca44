// SPDX-License-Identifier: Apache-2.0
#include "ui/layoutmap/layout_map_view.h"

#include "ui/layoutmap/map_header.h"
#include "ui/layoutmap/map_interaction.h"
#include "ui/layoutmap/map_legend.h"
#include "ui/layoutmap/map_minimap.h"
#include "ui/layoutmap/map_pinned_rows.h"
#include "ui/layoutmap/map_ruler.h"
#include "ui/layoutmap/map_scroll_bar.h"
#include "ui/layoutmap/map_selection_link.h"
#include "ui/layoutmap/rank_gutter.h"
#include "ui/style/theme.h"

#include <QGridLayout>

namespace shardscope::ui {

LayoutMapView::LayoutMapView(const Theme* theme, QWidget* parent)
    : QWidget(parent)
    , m_theme(theme)
    , m_viewport(new MapViewport(this))
{
    setObjectName(QStringLiteral("layoutMapView"));
    makeChildren();
    arrangeChildren();
    connectChildren();
    applyTheme();
    showUnit(false);
}

LayoutMapView::~LayoutMapView()
{
    delete m_interaction; // it would still report that the canvas loses the focus
}

void LayoutMapView::makeChildren()
{
    m_header = new MapHeader(this);
    m_minimap = new MapMinimap(m_viewport, this);
    m_ruler = new MapRuler(m_viewport, this);
    m_pinned = new MapPinnedRows(m_viewport, this);
    m_gutter = new RankGutter(m_viewport, this);
    m_canvas = new MapCanvas(m_viewport, this);
    m_canvas->setAccessibleName(tr("Partition map"));
    m_interaction = new MapInteraction(m_canvas, m_viewport);
    m_link = new MapSelectionLink(m_canvas, m_viewport, m_interaction, this);
    m_rowBar = new MapScrollBar(Qt::Vertical, m_viewport, this);
    m_columnBar = new MapScrollBar(Qt::Horizontal, m_viewport, this);
    m_legend = new MapLegend(this);
    setFocusProxy(m_canvas);
}

void LayoutMapView::arrangeChildren()
{
    auto* layout = new QGridLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    layout->addWidget(m_header, 0, 0, 1, 3);
    layout->addWidget(m_minimap, 1, 1);
    layout->addWidget(m_ruler, 2, 1);
    layout->addWidget(m_pinned, 3, 0, 1, 2);
    layout->addWidget(m_gutter, 4, 0);
    layout->addWidget(m_canvas, 4, 1);
    layout->addWidget(m_rowBar, 4, 2);
    layout->addWidget(m_columnBar, 5, 1);
    layout->addWidget(m_legend, 6, 0, 1, 3);
    layout->setRowStretch(4, 1);
    layout->setColumnStretch(1, 1);
}

void LayoutMapView::connectChildren()
{
    connect(m_theme, &Theme::changed, this, &LayoutMapView::applyTheme);
    connect(m_header, &MapHeader::unitChosen, this, &LayoutMapView::setUnit);
    connect(m_header, &MapHeader::stateChosen, this,
        [this](uint32_t state) { setState(static_cast<int>(state)); });
    connect(m_header, &MapHeader::projectionChosen, this, &LayoutMapView::setProjection);
    connect(m_header, &MapHeader::modeChosen, this, &LayoutMapView::setColourMode);
    connect(m_header, &MapHeader::fitRequested, m_viewport, &MapViewport::fit);
    connect(m_legend, &MapLegend::classToggled, this, &LayoutMapView::toggleClass);
    connect(m_canvas, &MapCanvas::overviewChanged, m_minimap, &MapMinimap::setOverview);
    connect(m_interaction, &MapInteraction::hoveredChanged, this, [this](const auto& point) {
        m_ruler->setHovered(point ? std::optional(point->element) : std::nullopt);
        m_gutter->setHovered(point ? std::optional(point->row) : std::nullopt);
    });
    connect(m_interaction, &MapInteraction::activated, this, [this](const auto& point) {
        if (point && m_canvas->marks().param != kNoParam) {
            Q_EMIT parameterActivated(m_canvas->marks().param);
        }
    });
    connect(m_interaction, &MapInteraction::rowPinWanted, this, &LayoutMapView::pinRow);
    connect(m_interaction, &MapInteraction::markWanted, this, &LayoutMapView::toggleMark);
    connect(m_interaction, &MapInteraction::nextMarkWanted, this, &LayoutMapView::goToNextMark);
    connect(m_interaction, &MapInteraction::projectionSwitchWanted, this, [this] {
        setProjection(m_projection == MapQuery::Projection::Partitions ? MapQuery::Projection::Unrolled
                                                                       : MapQuery::Projection::Partitions);
    });
    connect(m_gutter, &RankGutter::rowClicked, m_link, &MapSelectionLink::selectRow);
    connect(m_link, &MapSelectionLink::unitWanted, this, &LayoutMapView::setUnit);
}

void LayoutMapView::applyTheme()
{
    const auto palette = std::make_shared<const MapPalette>(mapPaletteFrom(*m_theme));
    m_minimap->setMapPalette(palette);
    m_ruler->setMapPalette(palette);
    m_gutter->setMapPalette(palette);
    m_pinned->setMapPalette(palette);
    m_canvas->setMapPalette(palette);
    m_rowBar->setMapPalette(palette);
    m_legend->setMapPalette(palette);
    QPalette widgetPalette = this->palette();
    widgetPalette.setColor(QPalette::Window, QColor(palette->background));
    setPalette(widgetPalette);
    setAutoFillBackground(true);
}

void LayoutMapView::setCheckpoint(CheckpointPtr checkpoint, ParamLooksPtr looks)
{
    const bool known
        = m_checkpoint && checkpoint && m_unit != kNoUnit && index(m_unit) < checkpoint->units.size();
    const bool sameSize = known
        && m_checkpoint->units[index(m_unit)].partition.partitionElements()
            == checkpoint->units[index(m_unit)].partition.partitionElements();
    m_checkpoint = std::move(checkpoint);
    m_looks = looks || !m_checkpoint ? std::move(looks) : paramLooks(*m_checkpoint);
    m_findings.clear();
    if (!sameSize) {
        m_bookmarks.clear();
    }
    if (!known) {
        m_unit = m_checkpoint && !m_checkpoint->units.empty() ? UnitId{0} : kNoUnit;
        m_state = 0;
    }
    m_header->setCheckpoint(m_checkpoint);
    showUnit(sameSize);
}

void LayoutMapView::setFindings(std::vector<Finding> findings)
{
    if (findings.empty() && m_findings.empty())
        return;
    m_findings = std::move(findings);
    showUnit(true);
}

void LayoutMapView::setUnit(UnitId unit)
{
    if (m_checkpoint && unit != m_unit && index(unit) < m_checkpoint->units.size()) {
        m_unit = unit;
        showUnit(false);
    }
}

void LayoutMapView::setState(int state)
{
    const uint32_t wanted = state < 0 ? 0 : static_cast<uint32_t>(state);
    if (wanted != m_state) {
        m_state = wanted;
        showUnit(true);
    }
}

void LayoutMapView::setProjection(MapQuery::Projection projection)
{
    if (projection != m_projection) {
        m_projection = projection;
        showUnit(false);
    }
}

void LayoutMapView::setColourMode(MapColourMode mode)
{
    m_style.mode = mode;
    applyStyle();
    m_header->show(m_unit, m_state, m_projection, m_style.mode);
}

void LayoutMapView::setSelection(Selection* selection)
{
    m_link->setSelection(selection);
}

void LayoutMapView::setCompact(bool compact)
{
    m_header->setHidden(compact);
    m_minimap->setHidden(compact);
    m_legend->setHidden(compact);
}

void LayoutMapView::toggleClass(ParamClass paramClass)
{
    m_style.dimmedClasses
        = static_cast<uint8_t>(m_style.dimmedClasses ^ (1u << static_cast<unsigned>(paramClass)));
    applyStyle();
}

void LayoutMapView::setLit(ParamMarks lit)
{
    if (lit != m_style.lit) {
        m_style.lit = std::move(lit);
        applyStyle();
    }
}

void LayoutMapView::setDifferences(DifferenceMarksPtr differences)
{
    if (differences == m_style.differences) {
        return;
    }
    m_header->setComparable(differences != nullptr);
    m_style.differences = std::move(differences);
    if (!m_style.differences && m_style.mode == MapColourMode::Difference) {
        m_style.mode = MapColourMode::Kind;
    }
    applyStyle();
    m_header->show(m_unit, m_state, m_projection, m_style.mode);
}

void LayoutMapView::applyStyle()
{
    m_canvas->setMapStyle(m_style);
    m_pinned->setMapStyle(m_style);
    m_legend->setMapStyle(m_style);
}

void LayoutMapView::pinRow(uint32_t row)
{
    if (m_projection == MapQuery::Projection::Unrolled) {
        m_link->say(tr("All ranks are one line here. There is no row to pin."));
    } else if (!m_pinned->toggle(row)) {
        m_link->say(tr("No more than %1 rows can be pinned.").arg(MapPinnedRows::kMaxRows));
    }
}

void LayoutMapView::toggleMark(MapSource::Point point)
{
    m_bookmarks.toggle(*m_canvas->source(), point);
    showMarks();
}

void LayoutMapView::goToNextMark()
{
    auto* cursor = m_interaction->cursor();
    cursor->goTo(m_bookmarks.next(*m_canvas->source(), cursor->place()), tr("No marks. Press M to set one."));
}

void LayoutMapView::showMarks()
{
    auto marks = m_canvas->marks();
    marks.dropped
        = m_canvas->source() ? m_bookmarks.pointsOf(*m_canvas->source()) : std::vector<MapSource::Point>{};
    m_canvas->setMarks(marks);
    std::vector<uint64_t> elements;
    for (const auto& point : marks.dropped) {
        elements.push_back(point.element);
    }
    m_ruler->setMarked(std::move(elements));
}

void LayoutMapView::resizeEvent(QResizeEvent* event)
{
    QWidget::resizeEvent(event);
    m_pinned->setLeftEdge(m_gutter->sizeHint().width());
}

void LayoutMapView::showUnit(bool keepZoom)
{
    if (!m_checkpoint || m_unit == kNoUnit) {
        setSource(nullptr, false);
        return;
    }
    const auto& states = m_checkpoint->units[index(m_unit)].states;
    if (states.empty()) {
        setSource(nullptr, false);
        return;
    }
    m_state = m_state < states.size() ? m_state : 0;
    setSource(std::make_shared<const MapSource>(
                  m_checkpoint, MapQuery::Subject{m_unit, m_projection, m_state}, m_looks, m_findings),
        keepZoom);
}

void LayoutMapView::setSource(MapSourcePtr source, bool keepZoom)
{
    const auto marks = m_canvas->marks();
    m_canvas->setSource(source);
    m_minimap->setSource(source);
    m_gutter->setSource(source);
    m_pinned->setSource(source);
    m_pinned->setLeftEdge(m_gutter->sizeHint().width());
    m_rowBar->setSource(source);
    m_legend->setSource(source);
    m_header->show(m_unit, m_state, m_projection, m_style.mode);
    if (source) {
        m_ruler->setItemBytes(itemSize(source->state().dtype));
    }
    const auto& geometry = m_viewport->geometry();
    const uint64_t columns = source ? source->query().columns() : 0;
    const uint32_t rows = source ? source->query().rows() : 0;
    if (!keepZoom || geometry.columns() != columns || geometry.rows() != rows) {
        m_viewport->setWhole(columns, rows);
        m_link->follow();
    } else {
        m_canvas->setMarks(marks);
    }
    showMarks();
}

} // namespace shardscope::ui
