// SPDX-License-Identifier: Apache-2.0
#include "ui/widgets/series_chart.h"

#include "ui/widgets/elided_text.h"
#include "ui/widgets/focus_ring.h"
#include "ui/widgets/point_keys.h"
#include "ui/widgets/round_step.h"

#include <QHash>
#include <QHelpEvent>
#include <QKeyEvent>
#include <QPainter>
#include <QPainterPath>
#include <QSet>
#include <QToolTip>

#include <algorithm>
#include <cmath>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

namespace {

constexpr double kLogarithmicFrom = 30; // largest by smallest value
constexpr int kLines = 4;
constexpr double kMostDecades = 5; ///< with a line each
constexpr double kMarkRoom = 10; ///< beside the first and last point, so that no mark covers a number

QString valueText(double value)
{
    return std::isfinite(value) ? QString::number(value, 'g', 3) : u"–"_s;
}

} // namespace

SeriesChart::SeriesChart(Theme& theme, QWidget* parent)
    : QWidget(parent)
    , m_theme(theme)
{
    setFocusPolicy(Qt::StrongFocus);
    setProperty(kShowsFocusFrame, true);
    connect(&theme, &Theme::changed, this, [this] { update(); });
}

void SeriesChart::setPoints(const QString& title, std::vector<Point> points, const QString& emptyText)
{
    const QString label = m_current >= 0 ? m_points[static_cast<size_t>(m_current)].label : QString();
    m_title = title;
    m_emptyText = emptyText;
    m_points = std::move(points);
    m_current = -1;
    double low = INFINITY;
    double high = -INFINITY;
    double least = INFINITY; // above zero
    for (size_t i = 0; i < m_points.size(); ++i) {
        const double value = m_points[i].value;
        if (!label.isEmpty() && m_points[i].label == label)
            m_current = static_cast<int>(i);
        if (!std::isfinite(value))
            continue;
        low = std::min(low, value);
        high = std::max(high, value);
        if (value > 0)
            least = std::min(least, value);
    }
    m_logarithmic = low >= 0 && std::isfinite(least) && high > kLogarithmicFrom * least;
    if (m_logarithmic) {
        m_low = std::floor(std::log10(least));
        m_high = std::max(std::ceil(std::log10(high)), m_low + 1);
        m_step = std::ceil((m_high - m_low) / kMostDecades);
    } else {
        const double bottom = std::min(low, 0.0);
        m_step = high > bottom ? roundStep((high - bottom) * 1.05 / kLines) : 1;
        m_low = std::floor(bottom / m_step) * m_step;
        m_high = high > bottom ? std::ceil((high - m_low) * 1.02 / m_step) * m_step + m_low : m_low + 1;
    }
    describe();
    update();
}

void SeriesChart::setCurrent(int point)
{
    m_current = point < static_cast<int>(m_points.size()) ? point : -1;
    describe();
    update();
}

void SeriesChart::describe()
{
    setAccessibleName(title());
    setAccessibleDescription(m_points.empty() ? m_emptyText
            : m_current >= 0                  ? textOf(static_cast<size_t>(m_current))
                                              : tr("%n points", nullptr, static_cast<int>(m_points.size())));
}

QString SeriesChart::title() const
{
    return m_logarithmic ? tr("%1, logarithmic").arg(m_title) : m_title;
}

std::vector<double> SeriesChart::ticks() const
{
    std::vector<double> out;
    for (int i = 0; m_low + i * m_step <= m_high + m_step / 1000; ++i) {
        const double at = m_low + i * m_step;
        out.push_back(m_logarithmic ? std::pow(10, at) : at);
    }
    return out;
}

QString SeriesChart::textOf(size_t point) const
{
    const Point& at = m_points[point];
    return at.label % u": "_s % (std::isfinite(at.value) ? valueText(at.value) : tr("no value"))
        % (at.marked ? tr(", with an alarm") : QString());
}

QRectF SeriesChart::plot() const
{
    const QFontMetrics metrics = fontMetrics();
    const double left = metrics.horizontalAdvance(u"8.88e-88"_s) + 12;
    return QRectF(rect()).adjusted(left, 1.5 * metrics.height() + 12, -14, -metrics.height() - 10);
}

double SeriesChart::heightOf(double value) const
{
    const double at = m_logarithmic ? (value > 0 ? std::log10(value) : m_low) : value;
    return std::clamp((at - m_low) / (m_high - m_low), 0.0, 1.0);
}

QPointF SeriesChart::placeOf(size_t point) const
{
    const QRectF area = plot();
    const double width = area.width() - 2 * kMarkRoom;
    const double step = m_points.size() < 2 ? 0 : width / static_cast<double>(m_points.size() - 1);
    const double x = m_points.size() < 2 ? area.center().x()
                                         : area.left() + kMarkRoom + step * static_cast<double>(point);
    return {x, area.bottom() - heightOf(m_points[point].value) * area.height()};
}

int SeriesChart::pointAt(double x) const
{
    if (m_points.empty())
        return -1;
    const QRectF area = plot();
    const double last = static_cast<double>(m_points.size() - 1);
    const double at = (x - area.left() - kMarkRoom) / std::max(area.width() - 2 * kMarkRoom, 1.0) * last;
    return static_cast<int>(std::lround(std::clamp(at, 0.0, last)));
}

void SeriesChart::paintEvent(QPaintEvent* /*event*/)
{
    QPainter painter(this);
    painter.setLayoutDirection(Qt::LeftToRight); // points are counted from the left in every language
    painter.setRenderHint(QPainter::Antialiasing);
    painter.fillRect(rect(), m_theme.colour(ThemeRole::Surface));
    QFont bold = font();
    bold.setWeight(QFont::DemiBold);
    painter.setFont(bold);
    painter.setPen(m_theme.colour(ThemeRole::Text));
    painter.drawText(QRectF(12, 6, width() - 24, fontMetrics().height()), Qt::AlignLeft | Qt::AlignVCenter,
        QFontMetrics(bold).elidedText(title(), Qt::ElideMiddle, width() - 24));
    painter.setFont(font());
    const bool any
        = std::ranges::any_of(m_points, [](const Point& point) { return std::isfinite(point.value); });
    if (!any) {
        painter.setPen(m_theme.colour(ThemeRole::MutedText));
        painter.drawText(rect().adjusted(12, fontMetrics().height() + 8, -12, -8),
            Qt::AlignCenter | Qt::TextWordWrap, m_emptyText);
    } else {
        paintAxis(painter);
        paintLabels(painter);
        paintLines(painter);
        paintPoints(painter);
    }
}

void SeriesChart::paintLines(QPainter& painter)
{
    QPainterPath lines;
    QHash<QString, QPointF> last;
    for (size_t i = 0; i < m_points.size(); ++i) {
        const QString& series = m_points[i].series;
        if (!std::isfinite(m_points[i].value)) {
            last.remove(series); // a gap
            continue;
        }
        if (const auto from = last.constFind(series); from != last.constEnd()) {
            lines.moveTo(*from);
            lines.lineTo(placeOf(i));
        }
        last.insert(series, placeOf(i));
    }
    painter.setPen(QPen(m_theme.colour(ThemeRole::Accent), 1.6));
    painter.setBrush(Qt::NoBrush);
    painter.drawPath(lines);
}

void SeriesChart::paintPoints(QPainter& painter)
{
    const bool sparse = plot().width() > 5.0 * static_cast<double>(m_points.size());
    QSet<QString> joined;
    QSet<QString> seen;
    for (const Point& point : m_points) {
        if (seen.contains(point.series))
            joined.insert(point.series);
        seen.insert(point.series);
    }
    for (size_t i = 0; i < m_points.size(); ++i) {
        const bool isCurrent = static_cast<int>(i) == m_current;
        const bool isSeen = sparse || m_points[i].marked || isCurrent || !joined.contains(m_points[i].series);
        if (!std::isfinite(m_points[i].value) || !isSeen)
            continue;
        const QPointF at = placeOf(i);
        painter.setPen(QPen(m_theme.colour(ThemeRole::Surface), 1));
        painter.setBrush(m_theme.colour(m_points[i].marked ? ThemeRole::Error : ThemeRole::Accent));
        if (m_points[i].marked)
            painter.drawPolygon(
                QPolygonF{{at.x(), at.y() - 6}, {at.x() + 6, at.y() + 5}, {at.x() - 6, at.y() + 5}});
        else
            painter.drawEllipse(at, 3, 3);
        if (!isCurrent)
            continue;
        painter.setPen(QPen(m_theme.colour(ThemeRole::Text), 1.4));
        painter.setBrush(Qt::NoBrush);
        painter.drawEllipse(at, 8, 8);
    }
}

void SeriesChart::paintAxis(QPainter& painter)
{
    const QRectF area = plot();
    const std::vector<double> values = ticks();
    for (size_t i = 0; i < values.size(); ++i) {
        const double y = area.bottom() - heightOf(values[i]) * area.height();
        painter.setPen(m_theme.colour(ThemeRole::Border));
        painter.drawLine(QPointF(area.left(), y), QPointF(area.right(), y));
        painter.setPen(m_theme.colour(ThemeRole::MutedText));
        const double height = fontMetrics().height();
        if (area.height() < height * static_cast<double>(values.size()) && i % 2 != 0)
            continue; // no room for all
        painter.drawText(QRectF(2, y - height / 2, area.left() - 8, height),
            Qt::AlignRight | Qt::AlignVCenter, valueText(values[i]));
    }
}

/// Those of the first, the last and the current point.
void SeriesChart::paintLabels(QPainter& painter)
{
    const QRectF area = plot();
    painter.setPen(m_theme.colour(ThemeRole::MutedText));
    const QRectF line(area.left(), area.bottom() + 6, area.width(), fontMetrics().height());
    const QString current = m_current >= 0 ? textOf(static_cast<size_t>(m_current)) : QString();
    if (!current.isEmpty()) {
        painter.setPen(m_theme.colour(ThemeRole::Text));
        painter.drawText(line, Qt::AlignCenter,
            fontMetrics().elidedText(current, Qt::ElideMiddle, static_cast<int>(line.width())));
        return;
    }
    const int half = static_cast<int>(line.width() / 2) - 8;
    painter.drawText(line, Qt::AlignLeft, elidedText(m_points.front().label, fontMetrics(), half));
    if (m_points.size() > 1)
        painter.drawText(line, Qt::AlignRight, elidedText(m_points.back().label, fontMetrics(), half));
}

void SeriesChart::choose(int point)
{
    if (point < 0 || point >= static_cast<int>(m_points.size()) || point == m_current)
        return;
    setCurrent(point);
    Q_EMIT selected(point);
}

void SeriesChart::keyPressEvent(QKeyEvent* event)
{
    if (const auto point = pointAfterKey(event->key(), m_current, static_cast<int>(m_points.size()) - 1))
        return choose(*point);
    const bool isEnter = event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter;
    if (!isEnter)
        return QWidget::keyPressEvent(event);
    if (m_current >= 0)
        Q_EMIT activated(m_current);
}

void SeriesChart::mousePressEvent(QMouseEvent* event)
{
    if (event->button() == Qt::LeftButton)
        choose(pointAt(event->position().x()));
}

void SeriesChart::mouseDoubleClickEvent(QMouseEvent* event)
{
    const int point = pointAt(event->position().x());
    if (event->button() == Qt::LeftButton && point >= 0)
        Q_EMIT activated(point);
}

bool SeriesChart::event(QEvent* event)
{
    if (event->type() != QEvent::ToolTip)
        return QWidget::event(event);
    auto* help = static_cast<QHelpEvent*>(event); // NOLINT: by its type
    const int point = pointAt(help->pos().x());
    QToolTip::showText(help->globalPos(), point < 0 ? QString() : textOf(static_cast<size_t>(point)), this);
    return true;
}

} // namespace shardscope::ui
