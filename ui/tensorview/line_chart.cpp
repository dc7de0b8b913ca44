// SPDX-License-Identifier: Apache-2.0
#include "ui/tensorview/line_chart.h"

#include "ui/tensorview/number_format.h"
#include "ui/text/text.h"

#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QToolTip>

#include <algorithm>
#include <cmath>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

namespace {

constexpr uint64_t kColumns = 1024;
constexpr uint64_t kFewest = 8; ///< elements that can be zoomed to
constexpr int kWheelStep = 120;
constexpr double kMargin = 0.04; ///< of the axis, above and below the values

QString rangeText(uint64_t first, uint64_t end)
{
    return end - first == 1 ? u"[%1]"_s.arg(first) : u"[%1 … %2]"_s.arg(first).arg(end - 1);
}

} // namespace

LineChart::LineChart(io::FileSystem& files, Theme& theme, ElementCursor& cursor, QWidget* parent)
    : QWidget(parent)
    , m_files(files)
    , m_theme(theme)
    , m_cursor(cursor)
{
    makeCellsAccessible(); // before its name is set, for which Qt asks for the interface
    setObjectName(u"lineChart"_s);
    setAccessibleName(tr("Line of the values"));
    setMinimumSize(160, 110);
    setFocusPolicy(Qt::StrongFocus);
    setMouseTracking(true);
    setLayoutDirection(Qt::LeftToRight); // an index axis
    connect(&theme, &Theme::changed, this, QOverload<>::of(&QWidget::update));
    connect(&cursor, &ElementCursor::changed, this, [this] {
        const uint64_t element = m_cursor.element();
        if (m_source && element < m_source->elements && (element < m_begin || element >= m_end))
            scrollBy(static_cast<int64_t>(element) - static_cast<int64_t>(m_begin + (m_end - m_begin) / 2));
        report();
        announceCurrentCell(this);
        update();
    });
}

void LineChart::setSource(TensorSourcePtr source)
{
    m_source = std::move(source);
    m_places = m_source ? std::make_shared<const ElementPlaces>(m_source) : nullptr;
    m_samples = {};
    m_begin = 0;
    m_end = m_source ? m_source->elements : 0;
    read();
}

void LineChart::read()
{
    m_reader.cancel();
    rescale();
    if (!m_source || m_begin == m_end)
        return;
    m_reader.run<LineSamples>(
        [&files = m_files, source = m_source, begin = m_begin, end = m_end](
            const std::stop_token& token, const std::function<void(LineSamples)>& deliver) {
            deliver(readLine(files, *source, begin, end, kColumns, token));
        },
        [this](LineSamples samples) {
            m_samples = std::move(samples);
            rescale();
            Q_EMIT arrived();
        });
}

void LineChart::setView(uint64_t begin, uint64_t end)
{
    const uint64_t all = m_source ? m_source->elements : 0;
    const uint64_t length = std::clamp(end > begin ? end - begin : 1, std::min(kFewest, all), all);
    begin = std::min(begin, all - length);
    if (begin == m_begin && begin + length == m_end)
        return;
    m_begin = begin;
    m_end = begin + length;
    read(); // meanwhile the samples there are stay, at their places
}

void LineChart::zoom(double factor, uint64_t around)
{
    const auto length = static_cast<double>(m_end - m_begin);
    const double share = length == 0 ? 0 : (static_cast<double>(around - m_begin) + 0.5) / length;
    const double now
        = std::clamp(length * factor, 1.0, static_cast<double>(m_source ? m_source->elements : 1));
    const double first = std::max(static_cast<double>(around) + 0.5 - share * now, 0.0);
    setView(static_cast<uint64_t>(std::llround(first)), static_cast<uint64_t>(std::llround(first + now)));
}

void LineChart::scrollBy(int64_t elements)
{
    const uint64_t begin = elements < 0 ? m_begin - std::min(m_begin, static_cast<uint64_t>(-elements))
                                        : m_begin + static_cast<uint64_t>(elements);
    setView(begin, begin + (m_end - m_begin));
}

void LineChart::setSymmetric(bool symmetric)
{
    m_scale.symmetric = symmetric;
    rescale();
}

void LineChart::setLogarithmic(bool logarithmic)
{
    m_scale.logarithmic = logarithmic;
    rescale();
}

void LineChart::setRange(std::optional<std::pair<double, double>> range)
{
    m_range = range;
    rescale();
}

void LineChart::rescale()
{
    m_scale.low = m_range ? m_range->first : m_samples.low;
    m_scale.high = m_range ? m_range->second : m_samples.high;
    if (m_scale.high <= m_scale.low) { // one value is a line in the middle
        const double around = m_scale.low == 0 ? 1 : std::abs(m_scale.low) / 2;
        m_scale.low -= around;
        m_scale.high += around;
    }
    m_axisWidth = 0;
    for (const double value : ticks())
        m_axisWidth = std::max(m_axisWidth, fontMetrics().horizontalAdvance(shortNumber(value)));
    report();
    update();
}

QRect LineChart::plot() const
{
    const int line = fontMetrics().height();
    return rect().adjusted(m_axisWidth + 8, line + 11, -6, -(line + 11));
}

int LineChart::xOf(uint64_t element) const
{
    const QRect area = plot();
    const double share = (static_cast<double>(element) + 0.5 - static_cast<double>(m_begin))
        / static_cast<double>(std::max<uint64_t>(m_end - m_begin, 1));
    return area.left() + static_cast<int>(std::clamp(share, -1.0, 2.0) * area.width());
}

uint64_t LineChart::elementAt(int x) const
{
    const QRect area = plot();
    const double share = std::clamp((x - area.left() + 0.5) / std::max(area.width(), 1), 0.0, 1.0);
    return std::min(m_begin + static_cast<uint64_t>(share * static_cast<double>(m_end - m_begin)),
        std::max<uint64_t>(m_end, 1) - 1);
}

int LineChart::yOf(double value) const
{
    const QRect area = plot();
    const double room = area.height() * (1 - 2 * kMargin);
    return area.bottom() - static_cast<int>(area.height() * kMargin + m_scale.place(value) * room);
}

double LineChart::xMiddle(const LineColumn& column) const
{
    const QRect area = plot();
    const double middle = (static_cast<double>(column.first) + static_cast<double>(column.end)) / 2;
    return area.left()
        + (middle - static_cast<double>(m_begin))
        / static_cast<double>(std::max<uint64_t>(m_end - m_begin, 1)) * area.width();
}

void LineChart::setCursorText(const QString& text)
{
    m_cursorText = text;
    report();
}

QString LineChart::columnText(size_t at) const
{
    const LineColumn& column = m_samples.columns[at];
    QStringList facts;
    const QString about = column.read < column.end - column.first ? u"≈ "_s : QString();
    if (column.hasValues())
        facts.append(column.low == column.high
                ? QString(about % shortNumber(column.low))
                : tr("%1%2 to %3").arg(about, shortNumber(column.low), shortNumber(column.high)));
    if (column.nans > 0)
        facts.append(tr("%1 NaN").arg(countText(column.nans)));
    if (column.positive + column.negative > 0)
        facts.append(tr("%1 infinite").arg(countText(column.positive + column.negative)));
    if (column.missing > 0)
        facts.append(tr("%1 missing or unreadable").arg(countText(column.missing)));
    return facts.join(u", "_s);
}

void LineChart::report()
{
    if (m_samples.columns.empty()) {
        setAccessibleDescription(m_reader.isRunning() ? tr("Reading…") : tr("No values"));
        return;
    }
    const QString marks = marksText();
    const QString whole = tr("Elements %1 to %2 of %3, values between %4 and %5")
                              .arg(countText(m_begin), countText(std::max<uint64_t>(m_end, 1) - 1),
                                  countText(m_source ? m_source->elements : 0), shortNumber(m_samples.low),
                                  shortNumber(m_samples.high))
        % (marks.isEmpty() ? QString() : QString(u", "_s % marks));
    setAccessibleDescription(m_cursorText.isEmpty() ? whole : QString(m_cursorText % u". "_s % whole));
    if (hasFocus()) {
        const QString rank = m_places ? m_places->runText(m_cursor.element()) : QString();
        Q_EMIT cellDescribed(rank.isEmpty() ? m_cursorText : QString(m_cursorText % u" · "_s % rank));
    }
}

CellTable LineChart::cellTable() const
{
    CellTable out{cellCount(m_samples.columns.size()), 1};
    if (!m_samples.columns.empty() && m_cursor.element() >= m_samples.begin
        && m_cursor.element() < m_samples.end)
        out.current = CellTable::Cell{static_cast<int>(m_samples.columnOf(m_cursor.element())), 0};
    return out;
}

QString LineChart::cellValue(int row, int /*column*/) const
{
    return columnText(static_cast<size_t>(row));
}

QString LineChart::rowName(int row) const
{
    const LineColumn& column = m_samples.columns[static_cast<size_t>(row)];
    return rangeText(column.first, column.end);
}

QString LineChart::columnName(int /*column*/) const
{
    return tr("lowest and highest value");
}

QRect LineChart::cellRect(int row, int /*column*/) const
{
    const LineColumn& column = m_samples.columns[static_cast<size_t>(row)];
    if (column.end <= m_begin || column.first >= m_end)
        return {};
    const QRect area = plot();
    const int left = std::max(xOf(column.first), area.left());
    return {left, area.top(), std::max(xOf(column.end - 1) - left, 1), area.height()};
}

std::optional<CellTable::Cell> LineChart::cellUnder(const QPoint& point) const
{
    if (m_samples.columns.empty() || !plot().contains(point))
        return {};
    return CellTable::Cell{static_cast<int>(m_samples.columnOf(elementAt(point.x()))), 0};
}

/// To the next element, or over as many as a pixel column has.
void LineChart::goTo(int64_t by)
{
    const uint64_t now = m_cursor.element();
    const uint64_t last = m_source->elements - 1;
    m_cursor.set(by < 0 ? now - std::min(now, static_cast<uint64_t>(-by))
                        : std::min(now + std::min(static_cast<uint64_t>(by), last), last));
}

void LineChart::keyPressEvent(QKeyEvent* event)
{
    if (!m_source || m_source->elements == 0)
        return QWidget::keyPressEvent(event);
    const auto length = static_cast<int64_t>(m_end - m_begin);
    const int64_t column = std::max<int64_t>(length / static_cast<int64_t>(kColumns), 1);
    const int64_t page = std::max<int64_t>(length / 10, 1);
    constexpr int64_t kEnd = std::numeric_limits<int64_t>::max() / 2;
    switch (event->key()) {
    case Qt::Key_Left:
        return goTo(-column);
    case Qt::Key_Right:
        return goTo(column);
    case Qt::Key_PageUp:
        return goTo(-page);
    case Qt::Key_PageDown:
        return goTo(page);
    case Qt::Key_Home:
        return goTo(-kEnd);
    case Qt::Key_End:
        return goTo(kEnd);
    case Qt::Key_W:
    case Qt::Key_Plus:
        return zoom(0.5, std::clamp(m_cursor.element(), m_begin, m_end - 1));
    case Qt::Key_S:
    case Qt::Key_Minus:
        return zoom(2, std::clamp(m_cursor.element(), m_begin, m_end - 1));
    case Qt::Key_A:
        return scrollBy(-page);
    case Qt::Key_D:
        return scrollBy(page);
    case Qt::Key_0:
        return setView(0, m_source->elements);
    case Qt::Key_Return:
    case Qt::Key_Enter:
        Q_EMIT centreRequested();
        return;
    default:
        QWidget::keyPressEvent(event);
    }
}

void LineChart::wheelEvent(QWheelEvent* event)
{
    const QPoint delta = event->angleDelta();
    if (!m_source || m_source->elements == 0)
        return QWidget::wheelEvent(event);
    if ((event->modifiers() & Qt::ControlModifier) != 0) {
        zoom(std::pow(2, -static_cast<double>(delta.y()) / kWheelStep),
            elementAt(static_cast<int>(event->position().x())));
    } else {
        const int moved = delta.x() != 0 ? delta.x() : delta.y();
        scrollBy(-static_cast<int64_t>(moved) * static_cast<int64_t>((m_end - m_begin) / 8 + 1) / kWheelStep);
    }
    event->accept();
}

void LineChart::mousePressEvent(QMouseEvent* event)
{
    if (m_source && m_source->elements > 0 && event->button() == Qt::LeftButton)
        m_pressed = event->pos().x();
}

void LineChart::mouseMoveEvent(QMouseEvent* event)
{
    const bool isOver = !m_samples.columns.empty() && plot().contains(event->pos());
    m_hover = isOver || m_pressed ? std::clamp(event->pos().x(), plot().left(), plot().right()) : -1;
    update();
    if (!isOver) {
        Q_EMIT cellDescribed({});
        return;
    }
    const uint64_t element = elementAt(event->pos().x());
    const size_t column = m_samples.columnOf(element);
    const QString rank = m_places ? m_places->runText(element) : QString();
    QString text = rowName(static_cast<int>(column)) % u" = "_s % columnText(column);
    Q_EMIT cellDescribed(rank.isEmpty() ? text : QString(text % u" · "_s % rank));
}

void LineChart::mouseReleaseEvent(QMouseEvent* event)
{
    const auto pressed = std::exchange(m_pressed, std::nullopt);
    if (!pressed || event->button() != Qt::LeftButton)
        return;
    const int now = event->pos().x();
    if (std::abs(now - *pressed) >= kDraggedPixels)
        setView(elementAt(std::min(now, *pressed)), elementAt(std::max(now, *pressed)) + 1);
    else
        m_cursor.set(elementAt(now));
    update();
}

void LineChart::mouseDoubleClickEvent(QMouseEvent* /*event*/)
{
    if (m_source)
        setView(0, m_source->elements);
}

void LineChart::resizeEvent(QResizeEvent* event)
{
    QWidget::resizeEvent(event);
    rescale(); // the number of ticks follows the height
}

void LineChart::leaveEvent(QEvent* event)
{
    QWidget::leaveEvent(event);
    m_hover = -1;
    update();
    Q_EMIT cellDescribed({});
}

bool LineChart::event(QEvent* event)
{
    if (event->type() != QEvent::ToolTip)
        return QWidget::event(event);
    const auto* help = static_cast<QHelpEvent*>(event);
    const auto cell = cellUnder(help->pos());
    if (!cell)
        return QWidget::event(event);
    const QString rank = m_places ? m_places->runText(elementAt(help->pos().x())) : QString();
    QToolTip::showText(help->globalPos(),
        QStringList{rowName(cell->row) % u" = "_s % cellValue(cell->row, 0), rank}.join(u'\n').trimmed(),
        this);
    return true;
}

void LineChart::focusInEvent(QFocusEvent* event)
{
    QWidget::focusInEvent(event);
    report();
    update();
}

void LineChart::focusOutEvent(QFocusEvent* event)
{
    QWidget::focusOutEvent(event);
    Q_EMIT cellDescribed({});
    update();
}

} // namespace shardscope::ui
