// SPDX-License-Identifier: Apache-2.0
#include "ui/tensorview/heat_map.h"

#include "ui/tensorview/number_format.h"
#include "ui/text/text.h"

#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>

#include <algorithm>
#include <cmath>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

HeatMap::HeatMap(io::FileSystem& files, Theme& theme, ElementCursor& cursor, QWidget* parent)
    : QWidget(parent)
    , m_files(files)
    , m_theme(theme)
    , m_cursor(cursor)
{
    makeCellsAccessible(); // before its name is set, for which Qt asks for the interface
    setObjectName(u"heatMap"_s);
    setAccessibleName(tr("Heat map"));
    setMinimumSize(160, 110);
    setFocusPolicy(Qt::StrongFocus);
    setMouseTracking(true);
    setLayoutDirection(Qt::LeftToRight); // columns are counted from the left in every language
    connect(&theme, &Theme::changed, this, &HeatMap::rescale);
    connect(&cursor, &ElementCursor::changed, this, [this] {
        announceCurrentCell(this);
        update();
    });
}

void HeatMap::setSlice(TensorSourcePtr source, const TensorSlice& slice)
{
    if (source != m_source)
        m_places = source ? std::make_shared<const ElementPlaces>(source) : nullptr;
    m_source = std::move(source);
    m_slice = slice;
    m_isCurrent = false;
    m_reader.cancel();
    if (!m_source) {
        m_samples = {};
        return rescale();
    }
    report();
    update();
    m_reader.run<HeatSamples>(
        [&files = m_files, source = m_source, places = m_places, slice](
            const std::stop_token& token, const std::function<void(HeatSamples)>& deliver) {
            HeatSamples samples = readHeat(files, *source, slice, token);
            samples.borders = rankBorders(*places, slice, samples.width, samples.height);
            deliver(std::move(samples));
        },
        [this](HeatSamples samples) {
            m_samples = std::move(samples);
            m_isCurrent = true;
            rescale();
            Q_EMIT arrived();
        });
}

void HeatMap::setSymmetric(bool symmetric)
{
    m_symmetric = symmetric;
    rescale();
}

void HeatMap::setLogarithmic(bool logarithmic)
{
    m_logarithmic = logarithmic;
    rescale();
}

void HeatMap::setRange(std::optional<std::pair<double, double>> range)
{
    m_range = range;
    rescale();
}

void HeatMap::setCursorText(const QString& text)
{
    m_cursorText = text;
    report();
}

void HeatMap::report()
{
    if (m_source && !m_isCurrent) {
        setAccessibleDescription(tr("Reading…"));
        return;
    }
    QString text = m_cursorText;
    const uint64_t elements = m_slice.rows() * m_slice.columns();
    const uint64_t cells = static_cast<uint64_t>(m_samples.width) * static_cast<uint64_t>(m_samples.height);
    if (cells > 0 && elements > cells)
        text = tr("%1, for one cell of about %2 elements").arg(text, countText(elements / cells));
    const QString whole = tr("%1 by %2 values between %3 and %4")
                              .arg(m_slice.rows())
                              .arg(m_slice.columns())
                              .arg(shortNumber(m_samples.low), shortNumber(m_samples.high));
    setAccessibleDescription(m_cursorText.isEmpty() ? whole : QString(text % u". "_s % whole));
    if (hasFocus()) {
        const QString rank = m_places ? m_places->runText(m_cursor.element()) : QString();
        Q_EMIT cellDescribed(rank.isEmpty() ? text : QString(text % u" · "_s % rank));
    }
}

QString HeatMap::cellText(int x, int y) const
{
    const uint64_t element = elementOf(x, y);
    if (element == HeatSamples::kNoElement || !m_source)
        return {};
    QString text = m_source->indexText(element) % u" = "_s % cellValue(y, x);
    const uint64_t elements = m_slice.rows() * m_slice.columns();
    const uint64_t cells = static_cast<uint64_t>(m_samples.width) * static_cast<uint64_t>(m_samples.height);
    if (elements > cells)
        text = tr("%1, the largest magnitude of about %2 elements").arg(text, countText(elements / cells));
    const QString rank = m_places->runText(element);
    return rank.isEmpty() ? text : QString(text % u" · "_s % rank);
}

CellTable HeatMap::cellTable() const
{
    if (!m_isCurrent)
        return {};
    CellTable out{m_samples.height, m_samples.width};
    if (const auto at = cursorCell())
        out.current = CellTable::Cell{at->y(), at->x()};
    return out;
}

QString HeatMap::cellValue(int row, int column) const
{
    const auto at
        = static_cast<size_t>(row) * static_cast<size_t>(m_samples.width) + static_cast<size_t>(column);
    switch (m_samples.kinds[at]) {
    case HeatKind::NotANumber:
        return tr("NaN");
    case HeatKind::Infinite:
        return tr("infinite");
    case HeatKind::Missing:
        return tr("missing or unreadable");
    case HeatKind::Nothing:
        return {};
    case HeatKind::Value:
        break;
    }
    return shortNumber(m_samples.values[at]);
}

QString HeatMap::rowName(int row) const
{
    const uint64_t element = elementOf(0, row);
    const auto cell = element == HeatSamples::kNoElement ? std::nullopt : m_slice.cellOf(element);
    return tr("row %1").arg(cell ? m_slice.rowLabel(cell->row) : QString::number(row));
}

QString HeatMap::columnName(int column) const
{
    const uint64_t element = elementOf(column, 0);
    const auto cell = element == HeatSamples::kNoElement ? std::nullopt : m_slice.cellOf(element);
    return tr("column %1").arg(cell ? m_slice.columnLabel(cell->column) : QString::number(column));
}

QRect HeatMap::cellRect(int row, int column) const
{
    const QRect area = imageArea();
    const int left = column * area.width() / m_samples.width;
    const int top = row * area.height() / m_samples.height;
    return {area.left() + left, area.top() + top,
        std::max((column + 1) * area.width() / m_samples.width - left, 1),
        std::max((row + 1) * area.height() / m_samples.height - top, 1)};
}

std::optional<CellTable::Cell> HeatMap::cellUnder(const QPoint& point) const
{
    const QRect area = imageArea();
    if (!m_isCurrent || m_image.isNull() || !area.contains(point))
        return {};
    return CellTable::Cell{(point.y() - area.top()) * m_samples.height / area.height(),
        (point.x() - area.left()) * m_samples.width / area.width()};
}

std::optional<QPoint> HeatMap::cursorCell() const
{
    const auto cell = m_slice.cellOf(m_cursor.element());
    if (!cell || !m_isCurrent || m_image.isNull())
        return {};
    const auto part = [](uint64_t position, uint64_t of, int cells) { // distributed as in HeatSamples
        return static_cast<int>(static_cast<double>(position) / static_cast<double>(of) * cells);
    };
    return QPoint(part(cell->column, m_slice.columns(), m_samples.width),
        part(cell->row, m_slice.rows(), m_samples.height));
}

uint64_t HeatMap::elementOf(int x, int y) const
{
    return m_samples
        .elements[static_cast<size_t>(y) * static_cast<size_t>(m_samples.width) + static_cast<size_t>(x)];
}

void HeatMap::goTo(int x, int y)
{
    const int row = std::clamp(y, 0, m_samples.height - 1);
    const int column = std::clamp(x, 0, m_samples.width - 1);
    if (const uint64_t element = elementOf(column, row); element != HeatSamples::kNoElement)
        m_cursor.set(element);
}

void HeatMap::keyPressEvent(QKeyEvent* event)
{
    const auto at = cursorCell();
    if (!at)
        return QWidget::keyPressEvent(event);
    const bool far = (event->modifiers() & Qt::ControlModifier) != 0;
    const int page = std::max(m_samples.height / 10, 1);
    const int right = m_samples.width - 1;
    switch (event->key()) {
    case Qt::Key_Left:
        return goTo(at->x() - 1, at->y());
    case Qt::Key_Right:
        return goTo(at->x() + 1, at->y());
    case Qt::Key_Up:
        return goTo(at->x(), at->y() - 1);
    case Qt::Key_Down:
        return goTo(at->x(), at->y() + 1);
    case Qt::Key_PageUp:
        return goTo(at->x(), at->y() - page);
    case Qt::Key_PageDown:
        return goTo(at->x(), at->y() + page);
    case Qt::Key_Home:
        return goTo(0, far ? 0 : at->y());
    case Qt::Key_End:
        return goTo(right, far ? m_samples.height - 1 : at->y());
    case Qt::Key_Return:
    case Qt::Key_Enter:
        Q_EMIT centreRequested();
        return;
    default:
        QWidget::keyPressEvent(event);
    }
}

void HeatMap::focusInEvent(QFocusEvent* event)
{
    QWidget::focusInEvent(event);
    report();
    update();
}

void HeatMap::focusOutEvent(QFocusEvent* event)
{
    QWidget::focusOutEvent(event);
    Q_EMIT cellDescribed({});
    update();
}

void HeatMap::pick(const QPoint& point)
{
    const QRect area = imageArea();
    if (m_slice.isEmpty() || !m_isCurrent || m_image.isNull() || !area.contains(point))
        return;
    const auto at = [](int offset, int pixels, uint64_t of) {
        return std::min(
            static_cast<uint64_t>(static_cast<double>(offset) / pixels * static_cast<double>(of)), of - 1);
    };
    if (const auto element = m_slice.elementAt({at(point.y() - area.top(), area.height(), m_slice.rows()),
            at(point.x() - area.left(), area.width(), m_slice.columns())}))
        m_cursor.set(*element);
}

void HeatMap::mousePressEvent(QMouseEvent* event)
{
    pick(event->pos());
}

void HeatMap::mouseMoveEvent(QMouseEvent* event)
{
    if ((event->buttons() & Qt::LeftButton) != 0)
        return pick(event->pos());
    const auto cell = cellUnder(event->pos());
    Q_EMIT cellDescribed(cell ? cellText(cell->column, cell->row) : QString());
}

void HeatMap::leaveEvent(QEvent* event)
{
    QWidget::leaveEvent(event);
    Q_EMIT cellDescribed({});
}

bool HeatMap::event(QEvent* event)
{
    if (event->type() != QEvent::ToolTip)
        return QWidget::event(event);
    const auto* help = static_cast<QHelpEvent*>(event);
    const auto cell = cellUnder(help->pos());
    QToolTip::showText(help->globalPos(), cell ? cellText(cell->column, cell->row) : QString(), this);
    return true;
}

} // namespace shardscope::ui
