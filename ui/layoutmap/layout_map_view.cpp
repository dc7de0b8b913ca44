// SPDX-License-Identifier: Apache-2.0
#include "ui/layoutmap/layout_map_view.h"

#include "ui/jobs/free_later.h"
#include "ui/layoutmap/file_map.h"
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

#include <QEvent>
#include <QGridLayout>

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
    makeChildren();
    arrangeChildren();
    connectChildren();
    applyTheme();
    showSections(false);
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
    m_ruler = new MapRuler(m_viewport, this);
    m_pinned = new MapPinnedRows(m_viewport, this);
    m_gutter = new RankGutter(m_viewport, this);
    m_canvas = new MapCanvas(m_viewport, this);
    m_canvas->setAccessibleName(tr("Partition map"));
    m_interaction = new MapInteraction(m_canvas, m_viewport);
    m_link = new MapSelectionLink(m_canvas, m_viewport, m_interaction, this);
    m_totals = new MapRankTotals(m_viewport, this);
    m_rowBar = new MapScrollBar(Qt::Vertical, m_viewport, this);
    m_columnBar = new MapScrollBar(Qt::Horizontal, m_viewport, this);
    m_legend = new MapLegend(this);
    m_files = new FileMap(*m_theme, this);
    m_files->hide();
    setFocusProxy(m_canvas);
}

void LayoutMapView::arrangeChildren()
{
    auto* layout = new QGridLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    layout->addWidget(m_header, 0, 0, 1, 4);
    layout->addWidget(m_minimap, 1, 1);
    layout->addWidget(m_layers, 2, 1);
    layout->addWidget(m_ruler, 3, 1);
    layout->addWidget(m_pinned, 4, 0, 1, 2);
    layout->addWidget(m_gutter, 5, 0);
    layout->addWidget(m_canvas, 5, 1);
    layout->addWidget(m_totals, 5, 2);
    layout->addWidget(m_rowBar, 5, 3);
    layout->addWidget(m_columnBar, 6, 1);
    layout->addWidget(m_legend, 7, 0, 1, 4);
    layout->addWidget(m_files, 5, 0, 3, 4); // in their place
    layout->setRowStretch(5, 1);
    layout->setColumnStretch(1, 1);
}

void LayoutMapView::connectChildren()
{
    connect(m_theme, &Theme::changed, this, &LayoutMapView::applyTheme);
    connect(m_header, &MapHeader::sectionChosen, this, &LayoutMapView::setSection);
    connect(m_header, &MapHeader::stateChosen, this,
        [this](const QString& state) { setState(std::string_view(state.toStdString())); });
    connect(m_header, &MapHeader::projectionChosen, this, [this](MapQuery::Projection projection) {
        setFilesShown(false);
        setProjection(projection);
    });
    connect(m_header, &MapHeader::filesChosen, this, [this] { setFilesShown(true); });
    connect(m_files, &FileMap::switchWanted, this, &LayoutMapView::switchProjection);
    connect(m_header, &MapHeader::modeChosen, this, &LayoutMapView::setColourMode);
    connect(m_header, &MapHeader::fitRequested, m_viewport, &MapViewport::fit);
    connect(m_header, &MapHeader::fitRequested, m_files, &FileMap::fit);
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
        if (point && m_canvas->marks().param != kNoParam) {
            Q_EMIT parameterActivated(m_canvas->marks().param);
        }
    });
    connect(m_interaction, &MapInteraction::menuWanted, this, &LayoutMapView::showMenu);
    connect(m_interaction, &MapInteraction::rowPinWanted, this, &LayoutMapView::pinRow);
    connect(m_interaction, &MapInteraction::markWanted, this, &LayoutMapView::toggleMark);
    connect(m_interaction, &MapInteraction::nextMarkWanted, this, &LayoutMapView::goToNextMark);
    connect(m_interaction, &MapInteraction::projectionSwitchWanted, this, &LayoutMapView::switchProjection);
    connect(m_gutter, &RankGutter::rowClicked, m_link, &MapSelectionLink::selectRow);
    connect(m_gutter, &RankGutter::headerClicked, m_viewport, &MapViewport::toggleFolded);
    connect(m_link, &MapSelectionLink::rankSelected, m_gutter, &RankGutter::setSelectedRank);
    connect(m_link, &MapSelectionLink::stateWanted, this, [this](const std::string& state) {
        if (std::find(m_looks->sectionStates.begin(), m_looks->sectionStates.end(), state)
            != m_looks->sectionStates.end()) {
            setState(std::string_view(state));
        }
    });
    connect(m_link, &MapSelectionLink::unitWanted, this, &LayoutMapView::setUnit);
}

void LayoutMapView::applyTheme()
{
    const auto palette = std::make_shared<const MapPalette>(mapPaletteFrom(*m_theme));
    m_minimap->setMapPalette(palette);
    m_layers->setMapPalette(palette);
    m_ruler->setMapPalette(palette);
    m_totals->setMapPalette(palette);
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

void LayoutMapView::setCheckpoint(CheckpointPtr checkpoint, MapLooksPtr looks)
{
    const bool sameRun = m_checkpoint && checkpoint && m_checkpoint->runFolder == checkpoint->runFolder;
    const size_t sectionsBefore = m_looks->sections.size();
    m_checkpoint = std::move(checkpoint);
    if (!m_checkpoint)
        m_looks = std::make_shared<const MapLooks>();
    else
        m_looks = looks && looks->source == m_checkpoint.get() ? std::move(looks) : mapLooks(*m_checkpoint);
    m_names = m_checkpoint ? freedOnWorker(std::make_shared<const MapNames>(m_checkpoint)) : nullptr;
    m_findings.clear();
    if (!sameRun) {
        useDefaults();
    }
    if (m_looks->sections.size() != sectionsBefore) {
        m_subject.section.reset();
    }
    m_header->setChoices(m_checkpoint, m_looks->sections, m_looks->sectionStates);
    m_files->setCheckpoint(m_checkpoint);
    readNames();
    showSections(sameRun);
}

void LayoutMapView::readNames()
{
    m_nameReader.cancel();
    if (!m_names || m_names->isRead()) {
        return;
    }
    m_nameReader.run<bool>(
        [names = m_names](const std::stop_token&, const std::function<void(bool)>& deliver) {
            names->readAhead();
            deliver(true);
        },
        [this](bool) { m_layers->update(); });
}

void LayoutMapView::useDefaults()
{
    m_subject = {};
    m_bookmarks.clear();
    const MapStyle before = std::exchange(m_style, {});
    m_style.lit = before.lit;
    m_style.differences = before.differences;
    if (m_checkpoint) {
        m_style.mode = m_looks->hasClasses ? MapColourMode::Kind : MapColourMode::Parameter;
    }
    if (before.mode == MapColourMode::Difference && m_style.differences) {
        m_style.mode = before.mode;
    }
    applyStyle();
}

void LayoutMapView::setFindings(std::vector<Finding> findings)
{
    if (findings.empty() && m_findings.empty())
        return;
    m_findings = std::move(findings);
    showSections(true);
}

void LayoutMapView::setSection(std::optional<uint32_t> section)
{
    const bool known = !section || *section < m_looks->sections.size();
    if (known && section != m_subject.section) {
        m_subject.section = section;
        showSections(false);
    }
}

void LayoutMapView::setUnit(UnitId unit)
{
    for (uint32_t section = 0; section < m_looks->sections.size(); ++section) {
        const auto& units = m_looks->sections[section].units;
        if (std::find(units.begin(), units.end(), unit) != units.end()) {
            setSection(section);
        }
    }
}

void LayoutMapView::setState(int state)
{
    const size_t wanted = state < 0 ? 0 : static_cast<size_t>(state);
    if (!m_looks->sectionStates.empty()) {
        setState(
            std::string_view(m_looks->sectionStates[wanted < m_looks->sectionStates.size() ? wanted : 0]));
    }
}

void LayoutMapView::setState(std::string_view state)
{
    if (state != m_subject.state) {
        m_subject.state = state;
        showSections(true);
    }
}

void LayoutMapView::setProjection(MapQuery::Projection projection)
{
    if (projection != m_subject.projection) {
        m_subject.projection = projection;
        showSections(false);
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
    m_files->setSelection(selection);
}

void LayoutMapView::setCompact(bool compact, bool withTotals)
{
    m_compact = compact;
    m_withTotals = withTotals || !compact;
    m_header->setHidden(compact);
    updateTotals();
    m_layers->setHidden(compact || !hasLayers());
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
    const MapSource::Point place = isShown(marks.hovered) ? *marks.hovered
        : isShown(marks.pinned)                           ? *marks.pinned
                                                          : m_interaction->cursor()->place();
    const MapSource& source = stack->source(place.section);
    m_layers->setRow(place);
    m_ruler->setSection(source.number(), itemSize(source.state().dtype),
        stack->count() > 1 ? MapText::sectionName(source) : QString());
}

bool LayoutMapView::hasLayers() const
{
    return m_names && m_names->hasLayers();
}

void LayoutMapView::updateMargins()
{
    const double ratio = devicePixelRatioF();
    // Names of ranks stand below the line that has all of them.
    const int below = projection() == MapQuery::Projection::Unrolled ? fontMetrics().height() + 8 : 0;
    const bool titled = m_canvas->stack() && (!m_compact || m_canvas->stack()->count() > 1);
    m_viewport->setMargins(titled ? MapSectionHeaders::heightFor(font(), ratio) : 0,
        static_cast<int>(std::lround(below * ratio)));
}

void LayoutMapView::updateTotals()
{
    // In narrow windows the cells need the room more.
    constexpr int kLeastForCells = 300;
    const int rest = width() - m_gutter->sizeHint().width() - m_totals->sizeHint().width();
    m_totals->setHidden(m_showsFiles || !m_withTotals || rest < kLeastForCells);
}

void LayoutMapView::resizeEvent(QResizeEvent* event)
{
    QWidget::resizeEvent(event);
    m_pinned->setLeftEdge(m_gutter->sizeHint().width());
    updateMargins(); // the pixel ratio may be another one
    updateTotals();
}

void LayoutMapView::changeEvent(QEvent* event)
{
    QWidget::changeEvent(event);
    if (event->type() == QEvent::FontChange) {
        updateMargins();
    }
}

bool LayoutMapView::needsWorker() const
{
    constexpr uint64_t kPartsAtOnce = 2000; // a few milliseconds
    uint64_t parts = 0;
    for (const MapSectionContent& content : m_looks->sections) {
        parts += content.tensors.size() + content.units.size();
        // A unit of several in a row costs as much as another one for every few of its ranks.
        if (content.units.size() > 1) {
            const FlatUnit& unit = m_checkpoint->units[index(content.units.front())];
            parts += content.units.size() * unit.partition.ranks() / 8;
        }
    }
    return parts > kPartsAtOnce;
}

void LayoutMapView::showSections(bool keepZoom)
{
    m_maker.cancel();
    if (m_looks->sections.empty()) {
        setStack(nullptr, false);
        return;
    }
    if (std::find(m_looks->sectionStates.begin(), m_looks->sectionStates.end(), m_subject.state)
        == m_looks->sectionStates.end()) {
        m_subject.state = m_looks->sectionStates.front();
    }
    const auto make
        = [checkpoint = m_checkpoint, subject = m_subject,
              shared = MapSource::Shared{.looks = m_looks, .names = m_names}, findings = m_findings] {
              return std::make_shared<const MapStack>(checkpoint, subject, shared, findings);
          };
    if (!needsWorker()) {
        setStack(make(), keepZoom);
        return;
    }
    const MapStackPtr& shown = m_canvas->stack();
    if (shown && &shown->checkpoint() != m_checkpoint.get()) {
        setStack(nullptr, false);
    }
    m_maker.run<MapStackPtr>(
        [make](const std::stop_token&, const std::function<void(MapStackPtr)>& deliver) { deliver(make()); },
        [this, keepZoom](const MapStackPtr& stack) { setStack(stack, keepZoom); });
}

bool LayoutMapView::isBusy() const
{
    return m_files->isBusy() || m_maker.isRunning() || m_nameReader.isRunning() || m_canvas->isDrawing();
}

void LayoutMapView::setStack(const MapStackPtr& stack, bool keepZoom)
{
    const auto marks = m_canvas->marks();
    const auto sizes = sizesOf(stack);
    const bool sameSizes = m_canvas->stack() && stack && sizesOf(m_canvas->stack()) == sizes;
    m_canvas->setStack(stack);
    m_minimap->setStack(stack);
    m_gutter->setStack(stack);
    m_layers->setStack(stack);
    m_layers->setHidden(m_showsFiles || m_compact || !hasLayers());
    m_totals->setStack(stack);
    m_pinned->setStack(stack);
    m_pinned->setLeftEdge(m_gutter->sizeHint().width());
    m_rowBar->setStack(stack);
    m_legend->setStack(stack);
    showChoices();
    updateMargins();
    if (!keepZoom || !sameSizes) {
        m_viewport->setWhole(sizes);
        m_link->follow();
    } else {
        m_canvas->setMarks(marks);
    }
    updateRuler();
    showMarks();
}

std::vector<MapLayout::Size> LayoutMapView::sizesOf(const MapStackPtr& stack) const
{
    auto sizes = stack ? stack->sizes() : std::vector<MapLayout::Size>{};
    for (size_t i = 0; i < std::min(sizes.size(), m_fullWidths.size()); ++i) {
        sizes[i].fullWidth = m_fullWidths[i];
    }
    return sizes;
}

void LayoutMapView::setFullWidths(std::vector<uint64_t> elements)
{
    if (elements != m_fullWidths) {
        m_fullWidths = std::move(elements);
        m_viewport->setWhole(sizesOf(m_canvas->stack()));
    }
}

} // namespace shardscope::ui
