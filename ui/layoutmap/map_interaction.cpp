// SPDX-License-Identifier: Apache-2.0
#include "ui/layoutmap/map_interaction.h"

#include "ui/layoutmap/geometry/map_text.h"

#include <QApplication>
#include <QContextMenuEvent>
#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QToolTip>
#include <QWheelEvent>

#include <algorithm>
#include <cmath>

namespace shardscope::ui {

namespace {

/// A wheel notch zooms by half an octave.
constexpr int kStepsPerNotch = MapScale::kStepsPerOctave / 2;
constexpr int kWheelNotch = 120;

} // namespace

MapInteraction::MapInteraction(MapCanvas* canvas, MapViewport* viewport)
    : QObject(canvas)
    , m_canvas(canvas)
    , m_viewport(viewport)
    , m_cursor(new MapCursor(canvas, viewport, this))
{
    canvas->installEventFilter(this);
}

bool MapInteraction::eventFilter(QObject* watched, QEvent* event)
{
    if (watched != m_canvas || !m_canvas->stack()) {
        return QObject::eventFilter(watched, event);
    }
    switch (event->type()) {
    case QEvent::MouseButtonPress:
        return onMousePress(static_cast<QMouseEvent*>(event));
    case QEvent::MouseMove:
        return onMouseMove(static_cast<QMouseEvent*>(event));
    case QEvent::MouseButtonRelease:
        return onMouseRelease(static_cast<QMouseEvent*>(event));
    case QEvent::MouseButtonDblClick:
        return onDoubleClick(static_cast<QMouseEvent*>(event));
    case QEvent::Wheel:
        return onWheel(static_cast<QWheelEvent*>(event));
    case QEvent::KeyPress:
        return onKeyPress(static_cast<QKeyEvent*>(event));
    case QEvent::KeyRelease:
        if (static_cast<QKeyEvent*>(event)->key() == Qt::Key_Space
            && !static_cast<QKeyEvent*>(event)->isAutoRepeat()) {
            m_spaceHeld = false;
            m_canvas->unsetCursor();
        }
        return false;
    case QEvent::ContextMenu:
        return onContextMenu(static_cast<QContextMenuEvent*>(event));
    case QEvent::Leave:
    case QEvent::FocusOut:
        m_spaceHeld = m_spaceHeld && event->type() == QEvent::Leave;
        hover(std::nullopt);
        return false;
    case QEvent::ToolTip: {
        const auto* help = static_cast<QHelpEvent*>(event);
        const auto point = m_canvas->pointAt(help->pos());
        QToolTip::showText(help->globalPos(),
            point
                ? MapText::tooltip(m_canvas->stack()->sourceAt(*point), *point, m_canvas->shownDifferences())
                : QString(),
            m_canvas);
        return true;
    }
    default:
        return false;
    }
}

bool MapInteraction::onMousePress(QMouseEvent* event)
{
    m_pressedAt = m_canvas->devicePosition(event->position());
    m_lastAt = m_pressedAt;
    const bool pans
        = event->button() == Qt::MiddleButton || (event->button() == Qt::LeftButton && m_spaceHeld);
    if (pans) {
        m_drag = Drag::Pan;
        m_canvas->setCursor(Qt::ClosedHandCursor);
        return true;
    }
    if (event->button() == Qt::LeftButton) {
        if (const auto section = m_viewport->headerUnder(m_pressedAt.y())) {
            toggleFolded(*section);
            return true;
        }
        m_drag = Drag::Pressed;
        m_pressedPoint = m_canvas->pointAt(event->position());
        return false;
    }
    return false;
}

bool MapInteraction::onMouseMove(QMouseEvent* event)
{
    const QPoint device = m_canvas->devicePosition(event->position());
    if (m_drag == Drag::Pan) {
        m_viewport->scrollBy(m_lastAt.x() - device.x(), m_lastAt.y() - device.y());
        m_lastAt = device;
        return true;
    }
    if (m_drag == Drag::Pressed
        && (device - m_pressedAt).manhattanLength()
            >= QApplication::startDragDistance() * m_canvas->devicePixelRatioF()) {
        m_drag = Drag::Range;
    }
    if (m_drag == Drag::Range) {
        selectDragged(device);
    }
    hover(m_canvas->pointAt(event->position()));
    return false;
}

void MapInteraction::selectDragged(const QPoint& device)
{
    if (!m_pressedPoint) {
        return;
    }
    // A range stays inside the section where it began.
    const uint32_t section = m_pressedPoint->section;
    const auto& geometry = m_viewport->geometry(section);
    const int64_t top = m_viewport->layout().bodyTop(section) - m_viewport->y();
    const auto rowsAt = [&](int y) {
        return geometry.rowsAt(std::clamp<int64_t>(y - top, 0, geometry.contentHeight() - 1));
    };
    const auto rows = rowsAt(device.y());
    const auto pressedRows = rowsAt(m_pressedAt.y());
    const auto elements = geometry.elementsAt(
        std::clamp<int64_t>(m_viewport->x() + device.x(), 0, geometry.contentWidth() - 1));
    MapBlock block;
    block.section = section;
    block.rows = {std::min<uint64_t>({pressedRows.begin, m_pressedPoint->row, rows.begin}),
        std::max<uint64_t>({pressedRows.end, m_pressedPoint->row + uint64_t{1}, rows.end})};
    block.elements = {std::min(m_pressedPoint->element, elements.begin),
        std::max(m_pressedPoint->element + 1, elements.end)};
    m_viewport->setSelected(block);
}

void MapInteraction::toggleFolded(uint32_t section)
{
    hover(std::nullopt);
    m_viewport->toggleFolded(section);
}

bool MapInteraction::onMouseRelease(QMouseEvent* event)
{
    const Drag drag = m_drag;
    m_drag = Drag::None;
    if (drag == Drag::Pan) {
        m_canvas->setCursor(m_spaceHeld ? Qt::OpenHandCursor : Qt::ArrowCursor);
        return true;
    }
    if (drag == Drag::Pressed && event->button() == Qt::LeftButton) {
        m_viewport->setSelected({});
        m_cursor->pin(m_canvas->pointAt(event->position()));
    }
    return false;
}

bool MapInteraction::onDoubleClick(QMouseEvent* event)
{
    m_drag = Drag::None;
    const auto point = m_canvas->pointAt(event->position());
    if (m_viewport->headerUnder(m_canvas->devicePosition(event->position()).y())) {
        return true; // two clicks on a header
    }
    if (!point) {
        m_viewport->fit();
        return true;
    }
    if (m_canvas->stack()->files()) {
        Q_EMIT activated(point);
        return true;
    }
    const auto before = m_viewport->layout().scale();
    m_viewport->zoomTo(cellBlock(m_canvas->stack()->sourceAt(*point), *point));
    if (m_viewport->layout().scale() == before) {
        m_viewport->fit();
    }
    return true;
}

bool MapInteraction::onContextMenu(QContextMenuEvent* event)
{
    const bool byKey = event->reason() == QContextMenuEvent::Keyboard;
    const auto found = byKey ? m_canvas->marks().pinned : m_canvas->pointAt(event->pos());
    const MapSource::Point point = found.value_or(MapSource::Point{});
    const bool isShown = found && !m_viewport->layout().isFolded(point.section);
    if (isShown && !byKey) {
        m_cursor->pin(found); // the menu is about the cell, so it is shown which one
    }
    QPoint at = event->globalPos();
    if (isShown && byKey) {
        const auto rect = m_viewport->layout().rectOf(
            {{point.row, point.row + uint64_t{1}}, {point.element, point.element + 1}, point.section});
        const double ratio = m_canvas->devicePixelRatioF();
        const auto inView = [ratio](int64_t pixel) {
            return static_cast<int>(std::lround(static_cast<double>(pixel) / ratio));
        };
        at = m_canvas->mapToGlobal(
            QPoint(inView(rect.x - m_viewport->x()), inView(rect.y + rect.height - m_viewport->y())));
    }
    const QPoint device = m_canvas->devicePosition(event->pos());
    Q_EMIT menuWanted(isShown ? found : std::nullopt, m_viewport->headerUnder(device.y()), at);
    return true;
}

bool MapInteraction::onWheel(QWheelEvent* event)
{
    const QPoint device = m_canvas->devicePosition(event->position());
    QPoint delta = event->angleDelta();
    const bool shift = (event->modifiers() & Qt::ShiftModifier) != 0;
    if ((event->modifiers() & Qt::ControlModifier) != 0) {
        // Fine wheels send parts of a notch; they add up.
        m_wheelRest += {0, delta.y() != 0 ? delta.y() : delta.x()};
        const int perStep = shift ? kWheelNotch / 2 : kWheelNotch / kStepsPerNotch;
        const int steps = m_wheelRest.y() / perStep;
        m_wheelRest.ry() -= steps * perStep;
        if (shift) {
            m_viewport->zoomRows(steps, device.y());
        } else {
            const auto under = m_viewport->pointUnder(device);
            m_viewport->zoomColumns(steps, device.x(), under ? std::optional(under->section) : std::nullopt);
        }
    } else {
        const bool sideways = shift || m_viewport->maximumY() == 0;
        if (sideways && delta.x() == 0) {
            delta = {delta.y(), 0};
        }
        m_viewport->scrollBy(-delta.x(), -delta.y());
    }
    hover(m_canvas->pointAt(event->position()));
    event->accept();
    return true;
}

void MapInteraction::hover(const std::optional<MapSource::Point>& point)
{
    auto marks = m_canvas->marks();
    if (marks.hovered == point) {
        return;
    }
    marks.hovered = point;
    m_canvas->setMarks(marks);
    Q_EMIT hoveredChanged(point);
}

bool MapInteraction::onKeyPress(QKeyEvent* event)
{
    if ((event->modifiers() & (Qt::ControlModifier | Qt::AltModifier | Qt::MetaModifier)) != 0) {
        return false;
    }
    if (event->key() == Qt::Key_Space) {
        if (!event->isAutoRepeat()) {
            m_spaceHeld = true;
            m_canvas->setCursor(Qt::OpenHandCursor);
        }
        return true;
    }
    const bool shift = (event->modifiers() & Qt::ShiftModifier) != 0;
    return onMoveKey(event->key(), shift) || onStepKey(event->key(), shift)
        || onPlaceKey(event->key(), shift);
}

bool MapInteraction::onMoveKey(int key, bool shift)
{
    const auto& hovered = m_canvas->marks().hovered;
    const QSize size = m_viewport->size();
    const int centreX = hovered
        ? static_cast<int>(
            m_viewport->geometry(hovered->section).scale().pixelOf(hovered->element) - m_viewport->x())
        : size.width() / 2;
    switch (key) {
    case Qt::Key_W:
    case Qt::Key_S: {
        const int direction = key == Qt::Key_W ? 1 : -1;
        if (shift) {
            m_viewport->zoomRows(2 * direction, size.height() / 2);
        } else {
            m_viewport->zoomColumns(direction * kStepsPerNotch, centreX);
        }
        return true;
    }
    case Qt::Key_Plus: // with or without Shift, as the keyboard has it
    case Qt::Key_Minus:
        m_viewport->zoomColumns(key == Qt::Key_Plus ? kStepsPerNotch : -kStepsPerNotch, centreX);
        return true;
    case Qt::Key_A:
        m_viewport->scrollBy(-size.width() / 8, 0);
        return true;
    case Qt::Key_D:
        m_viewport->scrollBy(size.width() / 8, 0);
        return true;
    case Qt::Key_PageUp:
        m_viewport->scrollBy(0, -size.height() * 9 / 10);
        return true;
    case Qt::Key_PageDown:
        m_viewport->scrollBy(0, size.height() * 9 / 10);
        return true;
    case Qt::Key_Home:
        m_viewport->scrollTo(0, m_viewport->y());
        return true;
    case Qt::Key_End:
        m_viewport->scrollTo(m_viewport->maximumX(), m_viewport->y());
        return true;
    case Qt::Key_0:
        m_viewport->fit();
        return true;
    default:
        return false;
    }
}

bool MapInteraction::onPlaceKey(int key, bool shift)
{
    if (m_viewport->isEmpty()) {
        return false;
    }
    const auto place = m_cursor->place();
    switch (key) {
    case Qt::Key_P:
        Q_EMIT rowPinWanted(place);
        return true;
    case Qt::Key_M:
        if (shift) {
            Q_EMIT nextMarkWanted();
        } else {
            Q_EMIT markWanted(place);
        }
        return true;
    case Qt::Key_U:
        Q_EMIT projectionSwitchWanted();
        return true;
    case Qt::Key_H:
        if (m_viewport->layout().headerHeight() == 0) {
            return true; // without headers, nothing would be left to click
        }
        if (shift) {
            m_viewport->toggleAllFolded();
        } else {
            toggleFolded(place.section);
        }
        return true;
    default:
        return false;
    }
}

bool MapInteraction::onStepKey(int key, bool shift)
{
    if (m_viewport->isEmpty()) {
        return false;
    }
    switch (key) {
    case Qt::Key_Left:
    case Qt::Key_Right: {
        const auto step = key == Qt::Key_Left ? MapStep::Backward : MapStep::Forward;
        if (shift) {
            m_cursor->extend(step);
        } else {
            m_cursor->stepNeighbour(step);
        }
        return true;
    }
    case Qt::Key_Comma:
    case Qt::Key_Period:
        m_cursor->stepNeighbour(key == Qt::Key_Comma ? MapStep::Backward : MapStep::Forward);
        return true;
    case Qt::Key_Up:
    case Qt::Key_Down:
        m_cursor->stepRank(key == Qt::Key_Up ? -1 : 1);
        return true;
    case Qt::Key_BracketLeft:
    case Qt::Key_BracketRight:
        m_cursor->stepSibling(key == Qt::Key_BracketLeft ? MapStep::Backward : MapStep::Forward);
        return true;
    case Qt::Key_N:
        m_cursor->stepFinding(shift ? MapStep::Backward : MapStep::Forward);
        return true;
    case Qt::Key_Z:
        m_cursor->stepPadding(shift ? MapStep::Backward : MapStep::Forward);
        return true;
    case Qt::Key_F:
        m_cursor->centreOrFit();
        return true;
    case Qt::Key_Return:
    case Qt::Key_Enter:
        Q_EMIT activated(m_canvas->marks().pinned);
        return true;
    case Qt::Key_Escape:
        return m_cursor->stepBack();
    default:
        return false;
    }
}

} // namespace shardscope::ui
