// SPDX-License-Identifier: Apache-2.0
#include "ui/layoutmap/layout_map_view.h"

#include "ui/layoutmap/geometry/map_text.h"
#include "ui/layoutmap/map_header.h"
#include "ui/layoutmap/map_interaction.h"
#include "ui/layoutmap/map_layer_strip.h"
#include "ui/layoutmap/map_legend.h"
#include "ui/layoutmap/map_minimap.h"
#include "ui/layoutmap/map_pinned_rows.h"
#include "ui/layoutmap/map_rank_totals.h"
#include "ui/layoutmap/map_ruler.h"
#include "ui/layoutmap/map_scroll_bar.h"
#include "ui/layoutmap/map_selection_link.h"
#include "ui/layoutmap/rank_gutter.h"
#include "ui/style/theme.h"
#include "ui/widgets/focus_order.h"

#include <QEvent>
#include <QGridLayout>
#include <QGuiApplication>
#include <QLabel>

#include <algorithm>
#include <cmath>
#include <utility>

namespace shardscope::ui {

LayoutMapView::LayoutMapView(const Theme* theme, QWidget* parent)
    : QWidget(parent)
    , m_theme(theme)
    , m_viewport(new MapViewport(this))
{
    setObjectName(QStringLiteral("layoutMapView"));
    setLayoutDirection(Qt::LeftToRight); // elements are counted from the left in every language
    makeChildren();
    m_header->setLayoutDirection(QGuiApplication::layoutDirection());
    arrangeChildren();
    connectChildren();
    applyTheme();
    m_maker.make(false);
}

LayoutMapView::~LayoutMapView()
{
    delete m_interaction; // it would still report that the canvas loses the focus
}

void LayoutMapView::makeChildren()
{
    m_header = new MapHeader(this);
    m_minimap = new MapMinimap(m_viewport, this);
    m_layers = new MapLayerStrip(m_viewport, this);
    m_layersOf = new QLabel(this);
    m_layersOf->setObjectName(QStringLiteral("mapLayersOf"));
    m_layersOf->setContentsMargins(8, 0, 0, 0);
    m_layersOf->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
    m_layersOf->setToolTip(m_layers->toolTip());
    m_ruler = new MapRuler(m_viewport, this);
    m_pinned = new MapPinnedRows(m_viewport, this);
    m_gutter = new RankGutter(m_viewport, this);
    m_canvas = new MapCanvas(m_viewport, this);
    m_interaction = new MapInteraction(m_canvas, m_viewport);
    m_link = new MapSelectionLink(m_canvas, m_viewport, m_interaction, this);
    m_totals = new MapRankTotals(m_viewport, this);
    m_rowBar = new MapScrollBar(Qt::Vertical, m_viewport, this);
    m_columnBar = new MapScrollBar(Qt::Horizontal, m_viewport, this);
    m_legend = new MapLegend(this);
    handFocusTo(this, m_canvas);
}

void LayoutMapView::arrangeChildren()
{
    auto* layout = new QGridLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    layout->addWidget(m_header, 0, 0, 1, 4);
    layout->addWidget(m_minimap, 1, 1);
    layout->addWidget(m_layersOf, 2, 0);
    layout->addWidget(m_layers, 2, 1);
    layout->addWidget(m_ruler, 3, 0, 1, 2);
    layout->addWidget(m_pinned, 4, 0, 1, 2);
    layout->addWidget(m_gutter, 5, 0);
    layout->addWidget(m_canvas, 5, 1);
    layout->addWidget(m_totals, 5, 2);
    layout->addWidget(m_rowBar, 5, 3);
    layout->addWidget(m_columnBar, 6, 1);
    layout->addWidget(m_legend, 7, 0, 1, 4);
    layout->setRowStretch(5, 1);
    layout->setColumnStretch(1, 1);
}

void LayoutMapView::connectChildren()
{
    connect(&m_maker, &MapStackMaker::made, this, &LayoutMapView::setStack);
    connect(&m_maker, &MapStackMaker::namesRead, m_layers, qOverload<>(&QWidget::update));
    connect(m_layers, &MapLayerStrip::rowTextChanged, m_layersOf,
        [this] { m_layersOf->setText(m_layers->rowText()); });
    connect(m_theme, &Theme::changed, this, &LayoutMapView::applyTheme);
    connect(m_header, &MapHeader::sectionChosen, this, &LayoutMapView::setSection);
    connect(m_header, &MapHeader::stateChosen, this,
        [this](const QString& state) { setState(std::string_view(state.toStdString())); });
    connect(m_header, &MapHeader::projectionChosen, this, &LayoutMapView::setProjection);
    connect(m_header, &MapHeader::filesChosen, this, [this] { setFilesShown(true); });
    connect(m_header, &MapHeader::modeChosen, this, &LayoutMapView::setColourMode);
    connect(m_header, &MapHeader::fitRequested, m_viewport, &MapViewport::fit);
    connect(m_legend, &MapLegend::classToggled, this, &LayoutMapView::toggleClass);
    connect(m_canvas, &MapCanvas::overviewChanged, m_minimap, &MapMinimap::setOverview);
    connect(m_interaction, &MapInteraction::hoveredChanged, this, [this](const auto& point) {
        updateRuler();
        m_ruler->setHovered(point ? std::optional(point->element) : std::nullopt);
        m_gutter->setHovered(point);
        Q_EMIT placeChanged();
    });
    connect(m_viewport, &MapViewport::changed, this, &LayoutMapView::updateRuler);
    connect(m_viewport, &MapViewport::changed, this, &LayoutMapView::placeChanged);
    connect(m_interaction->cursor(), &MapCursor::pinnedChanged, this, &LayoutMapView::updateRuler);
    connect(m_interaction->cursor(), &MapCursor::pinnedChanged, this, &LayoutMapView::placeChanged);
    connect(m_interaction, &MapInteraction::activated, this, [this](const auto& point) {
        if (m_canvas->stack()->files()) {
            m_link->showFile();
        } else if (point && m_canvas->marks().param != kNoParam) {
            Q_EMIT parameterActivated(m_canvas->marks().param);
        }
    });
    connect(m_interaction, &MapInteraction::menuWanted, this, &LayoutMapView::showMenu);
    connect(m_interaction, &MapInteraction::rowPinWanted, this, &LayoutMapView::pinRow);
    connect(m_interaction, &MapInteraction::markWanted, this, &LayoutMapView::toggleMark);
    connect(m_interaction, &MapInteraction::nextMarkWanted, this, &LayoutMapView::goToNextMark);
    connect(m_interaction, &MapInteraction::projectionSwitchWanted, this, &LayoutMapView::switchProjection);
    connect(m_gutter, &RankGutter::rowClicked, m_link, &MapSelectionLink::selectRow);
    connect(m_gutter, &RankGutter::rowClicked, this, &LayoutMapView::rowClicked);
    connect(m_gutter, &RankGutter::headerClicked, m_viewport, &MapViewport::toggleFolded);
    connect(m_link, &MapSelectionLink::rankSelected, m_gutter, &RankGutter::setSelectedRank);
    connect(m_link, &MapSelectionLink::rankSelected, m_totals, &MapRankTotals::setSelectedRank);
    connect(m_link, &MapSelectionLink::stateWanted, this, [this](const std::string& state) {
        if (m_maker.hasState(state)) {
            setState(std::string_view(state));
        }
    });
    connect(m_link, &MapSelectionLink::unitWanted, this, &LayoutMapView::setUnit);
}

void LayoutMapView::applyTheme()
{
    const auto palette = std::make_shared<const MapPalette>(mapPaletteFrom(*m_theme));
    for (MapPart* part : findChildren<MapPart*>(Qt::FindDirectChildrenOnly)) {
        part->setMapPalette(palette);
    }
    m_canvas->setMapPalette(palette);
    m_rowBar->setMapPalette(palette);
    m_legend->setMapPalette(palette);
    QPalette widgetPalette = this->palette();
    widgetPalette.setColor(QPalette::Window, QColor(palette->background));
    setPalette(widgetPalette);
    setAutoFillBackground(true);
}

void LayoutMapView::setCheckpoint(CheckpointPtr checkpoint, MapLooksPtr looks)
{
    const CheckpointPtr former = m_maker.checkpoint();
    const bool sameRun = former && checkpoint && former->runFolder == checkpoint->runFolder;
    m_maker.setCheckpoint(checkpoint, std::move(looks));
    if (!sameRun) {
        useDefaults();
    }
    setLeastRowHeight(0);
    updateLeastRow();
    m_header->setChoices(checkpoint, m_maker.looks().sections, m_maker.looks().sectionStates);
    m_maker.make(sameRun);
}

void LayoutMapView::updateLeastRow()
{
    constexpr uint32_t kNamedRanks = 16;
    uint32_t most = 0;
    if (const CheckpointPtr& checkpoint = m_maker.checkpoint()) {
        for (const FlatUnit& unit : checkpoint->units) {
            most = std::max(most, unit.partition.ranks());
        }
    }
    if (most <= kNamedRanks) {
        setLeastRowHeight(fontMetrics().height() + 2);
    }
}

void LayoutMapView::useDefaults()
{
    const bool files = showsFiles();
    m_maker.subject() = {};
    m_maker.subject().files = files;
    m_bookmarks.clear();
    const MapStyle before = std::exchange(m_style, {});
    m_style.lit = before.lit;
    m_style.differences = before.differences;
    if (m_maker.checkpoint()) {
        m_style.mode = m_maker.looks().hasClasses ? MapColourMode::Kind : MapColourMode::Parameter;
    }
    if (before.mode == MapColourMode::Difference && m_style.differences) {
        m_style.mode = before.mode;
    }
    applyStyle();
}

void LayoutMapView::setFindings(std::vector<Finding> findings)
{
    if (m_maker.setFindings(std::move(findings)))
        m_maker.make(true);
}

void LayoutMapView::setSection(std::optional<uint32_t> section)
{
    const bool known = !section || *section < m_maker.looks().sections.size();
    if (known && section != m_maker.subject().section) {
        m_maker.subject().section = section;
        m_maker.make(false);
    }
}

void LayoutMapView::setUnit(UnitId unit)
{
    for (uint32_t section = 0; section < m_maker.looks().sections.size(); ++section) {
        const auto& units = m_maker.looks().sections[section].units;
        if (std::find(units.begin(), units.end(), unit) != units.end()) {
            setSection(section);
        }
    }
}

void LayoutMapView::setState(int state)
{
    const size_t wanted = state < 0 ? 0 : static_cast<size_t>(state);
    if (!m_maker.looks().sectionStates.empty()) {
        setState(std::string_view(
            m_maker.looks().sectionStates[wanted < m_maker.looks().sectionStates.size() ? wanted : 0]));
    }
}

void LayoutMapView::setState(std::string_view state)
{
    if (state != m_maker.subject().state) {
        m_maker.subject().state = state;
        m_maker.make(true);
    }
}

void LayoutMapView::setProjection(MapQuery::Projection projection)
{
    MapSubject& subject = m_maker.subject();
    if (subject.files || projection != subject.projection) {
        subject.files = false;
        subject.projection = projection;
        m_maker.make(false);
    }
}

void LayoutMapView::setColourMode(MapColourMode mode)
{
    m_style.mode = mode;
    applyStyle();
    showChoices();
}

void LayoutMapView::setSelection(Selection* selection)
{
    m_link->setSelection(selection);
}

void LayoutMapView::setCompact(bool compact, bool withTotals)
{
    m_frame = !compact ? Frame::Whole : withTotals ? Frame::RanksAndTotals : Frame::Ranks;
    // Maps next to one another have one width, whichever of them has rows to scroll to.
    QSizePolicy bar = m_rowBar->sizePolicy();
    bar.setRetainSizeWhenHidden(compact);
    m_rowBar->setSizePolicy(bar);
    m_header->setHidden(compact);
    updateRankParts();
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
    showChoices();
}

void LayoutMapView::applyStyle()
{
    m_canvas->setMapStyle(m_style);
    m_pinned->setMapStyle(m_style);
    m_legend->setMapStyle(m_style);
}

void LayoutMapView::updateRuler()
{
    const MapStackPtr& stack = m_canvas->stack();
    if (!stack || stack->count() == 0) {
        return;
    }
    const MapMarks& marks = m_canvas->marks();
    const auto isShown = [&](const std::optional<MapSource::Point>& point) {
        return point && point->section < stack->count();
    };
    const MapSource::Point cursor = m_interaction->cursor()->place(); // may be of a former stack
    const MapSource::Point place = isShown(marks.hovered) ? *marks.hovered
        : isShown(marks.pinned)                           ? *marks.pinned
        : isShown(cursor)                                 ? cursor
                                                          : MapSource::Point{};
    const MapSource& source = stack->source(place.section);
    m_layers->setRow(place);
    m_ruler->setSection(source.number(), source.files() ? 1 : itemSize(source.state().dtype),
        stack->count() > 1 ? MapText::shortSectionName(source) : QString(),
        stack->count() > 1 ? MapText::axisName(source, m_viewport->layout()) : QString());
}

void LayoutMapView::updateMargins()
{
    const double ratio = devicePixelRatioF();
    // Names of ranks stand below the line that has all of them.
    const int below = projection() == MapQuery::Projection::Unrolled ? fontMetrics().height() + 8 : 0;
    const bool titled = m_canvas->stack()
        && (!isCompact() || m_canvas->stack()->count() > 1 || m_viewport->layout().isEnlarged(0));
    m_viewport->setMargins(titled ? MapSectionHeaders::heightFor(font(), ratio) : 0,
        static_cast<int>(std::lround(below * ratio)));
}

void LayoutMapView::updateRankParts()
{
    const bool files = m_canvas->stack() && m_canvas->stack()->files();
    m_layers->setHidden(files || isCompact() || !m_maker.hasLayers());
    m_layersOf->setHidden(m_layers->isHidden());
    // In narrow windows the cells need the room more.
    constexpr int kLeastForCells = 300;
    const int rest = width() - m_gutter->sizeHint().width() - m_totals->sizeHint().width();
    m_totals->setHidden(files || m_frame == Frame::Ranks || rest < kLeastForCells);
}

void LayoutMapView::resizeEvent(QResizeEvent* event)
{
    QWidget::resizeEvent(event);
    m_gutter->updateGeometry(); // names of files take a part of the width
    setLeftEdge(m_gutter->sizeHint().width());
    updateMargins(); // the pixel ratio may be another one
    updateRankParts();
}

void LayoutMapView::changeEvent(QEvent* event)
{
    QWidget::changeEvent(event);
    if (event->type() == QEvent::FontChange) {
        updateMargins();
        updateLeastRow();
    }
}

void LayoutMapView::setLeftEdge(int x)
{
    m_pinned->setLeftEdge(x);
    m_ruler->setLeftEdge(x);
}

bool LayoutMapView::isBusy() const
{
    return m_maker.isBusy() || m_canvas->isDrawing();
}

void LayoutMapView::setStack(const MapStackPtr& stack, bool keepZoom)
{
    const auto marks = m_canvas->marks();
    const auto sizes = m_maker.sizesOf(stack);
    const bool sameSizes = m_canvas->stack() && stack && m_maker.sizesOf(m_canvas->stack()) == sizes;
    m_canvas->setStack(stack);
    for (MapPart* part : findChildren<MapPart*>(Qt::FindDirectChildrenOnly)) {
        part->setStack(stack);
    }
    m_canvas->setAccessibleName(stack && stack->files() ? tr("Map of files") : tr("Partition map"));
    updateRankParts();
    setLeftEdge(m_gutter->sizeHint().width());
    m_rowBar->setStack(stack);
    m_legend->setStack(stack);
    showChoices();
    // The margins come last: the ruler, which follows them, reads the stack and the viewport.
    if (!keepZoom || !sameSizes) {
        m_viewport->setWhole(sizes);
        m_link->follow();
    } else {
        m_canvas->setMarks(marks);
    }
    updateMargins();
    updateRuler();
    showMarks();
    Q_EMIT stackChanged();
}

void LayoutMapView::useOneScale(LayoutMapView& one, LayoutMapView& other)
{
    one.setBeside(other.canvas()->stack());
    other.setBeside(one.canvas()->stack());
}

void LayoutMapView::setBeside(const MapStackPtr& stack)
{
    const auto before = m_maker.sizesOf(m_canvas->stack());
    m_maker.setBeside(stack);
    const auto sizes = m_maker.sizesOf(m_canvas->stack());
    if (sizes != before) {
        m_viewport->setWhole(sizes);
        updateMargins();
        updateRuler();
        m_link->follow();
    }
}

} // namespace shardscope::ui
