// SPDX-License-Identifier: Apache-2.0
#include "ui/widgets/timeline.h"

#include "ui/widgets/point_keys.h"
#include "ui/widgets/round_step.h"

#include <QAccessible>
#include <QContextMenuEvent>
#include <QHelpEvent>
#include <QKeyEvent>
#include <QPainter>
#include <QToolTip>

#include <algorithm>
#include <cmath>
#include <numeric>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

namespace {

constexpr int kSide = 18; ///< left and right of the axis
constexpr int kBarHeight = 84; ///< less the line that says what it means
constexpr int kLeastBar = 5;
constexpr int kWidestBar = 22;
constexpr int kLeastApart = 8; ///< points at one place
constexpr int kBetweenTicks = 110;
constexpr float kBarStrength = 0.72F; ///< of bars that are not the open one's

/// Moves points apart that would cover each other, as far as there is room. Returns how wide bars can be.
int spread(std::vector<int>& points, int left, int right)
{
    std::vector<size_t> order(points.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return points[a] < points[b]; });
    const int apart
        = std::clamp((right - left) / std::max(1, static_cast<int>(order.size())), 1, kLeastApart);
    for (size_t i = 1; i < order.size(); ++i)
        points[order[i]] = std::max(points[order[i]], points[order[i - 1]] + apart);
    int most = right;
    for (size_t i = order.size(); i-- > 0; most = points[order[i]] - apart)
        points[order[i]] = std::min(points[order[i]], most);
    int width = kWidestBar;
    for (size_t i = 1; i < order.size(); ++i)
        width = std::min(width, (points[order[i]] - points[order[i - 1]]) * 2 / 3);
    return std::max(width, 1);
}

/// Points that have no place get one between those that have.
std::vector<double> placesOf(const QList<TimelinePoint>& points)
{
    std::vector<double> out(static_cast<size_t>(points.size()));
    std::vector<size_t> known;
    for (size_t i = 0; i < out.size(); ++i)
        if (const auto& place = points[static_cast<qsizetype>(i)].place)
            out[i] = *place, known.push_back(i);
    if (known.empty()) {
        for (size_t i = 0; i < out.size(); ++i)
            out[i] = static_cast<double>(i);
        return out;
    }
    const double pace = known.size() < 2
        ? 1
        : (out[known.back()] - out[known.front()]) / static_cast<double>(known.back() - known.front());
    for (size_t i = 0; i < out.size(); ++i) {
        const auto next = std::lower_bound(known.begin(), known.end(), i);
        if (next != known.end() && *next == i)
            continue;
        if (next == known.begin())
            out[i] = out[*next] - pace * static_cast<double>(*next - i);
        else if (next == known.end())
            out[i] = out[known.back()] + pace * static_cast<double>(i - known.back());
        else
            out[i] = out[*(next - 1)]
                + (out[*next] - out[*(next - 1)]) * static_cast<double>(i - *(next - 1))
                    / static_cast<double>(*next - *(next - 1));
    }
    return out;
}

} // namespace

Timeline::Timeline(Theme& theme, QWidget* parent)
    : QWidget(parent)
    , m_theme(theme)
    , m_text([](double place) { return QString::number(place, 'f', 0); })
{
    setFocusPolicy(Qt::StrongFocus);
    setMouseTracking(true);
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    connect(&theme, &Theme::changed, this, qOverload<>(&QWidget::update));
}

void Timeline::setPoints(QList<TimelinePoint> points)
{
    m_points = std::move(points);
    m_current = std::min(m_current, static_cast<int>(m_points.size()) - 1);
    m_hovered = -1;
    arrange();
    describe();
}

void Timeline::setAxis(std::function<QString(double)> text, bool isNumber)
{
    m_text = std::move(text);
    m_isNumber = isNumber;
    update();
}

void Timeline::setHeightText(std::function<QString(double)> text)
{
    m_heightText = std::move(text);
    updateGeometry();
    arrange();
}

void Timeline::setCurrent(int point)
{
    if (point >= m_points.size() || point == m_current)
        return;
    m_current = point;
    describe();
    update();
}

/// The same as setCurrent(), by the user.
void Timeline::choose(int point)
{
    if (point < 0 || point == m_current)
        return;
    setCurrent(point);
    Q_EMIT currentChanged(point);
}

QRect Timeline::plot() const
{
    const int line = fontMetrics().height();
    const int top = m_heightText ? 2 * line + 18 : line + 16;
    return {kSide, top, std::max(1, width() - 2 * kSide), kBarHeight + line + 16 - top};
}

QSize Timeline::sizeHint() const
{
    return {600, kBarHeight + 3 * fontMetrics().height() + 30};
}

void Timeline::arrange()
{
    const std::vector<double> places = placesOf(m_points);
    m_x.assign(places.size(), plot().center().x());
    m_most = 0;
    for (const TimelinePoint& point : m_points)
        m_most = std::max(m_most, point.value);
    m_barWidth = kWidestBar;
    if (!places.empty()) {
        m_first = *std::min_element(places.begin(), places.end());
        m_last = *std::max_element(places.begin(), places.end());
        const int inner = std::max(1, plot().width() - kWidestBar);
        for (size_t i = 0; i < places.size() && m_last > m_first; ++i)
            m_x[i] = plot().left() + kWidestBar / 2
                + static_cast<int>(std::lround((places[i] - m_first) / (m_last - m_first) * inner));
        m_barWidth = spread(m_x, plot().left() + kWidestBar / 2, plot().left() + kWidestBar / 2 + inner);
    }
    update();
}

QRect Timeline::bar(int point) const
{
    const TimelinePoint& what = m_points[point];
    const double share = m_most > 0 ? what.value / m_most : 0;
    const int height = std::max(kLeastBar, static_cast<int>(std::lround(share * plot().height())));
    return {
        m_x[static_cast<size_t>(point)] - m_barWidth / 2, plot().bottom() - height + 1, m_barWidth, height};
}

QRect Timeline::column(int point) const
{
    const QRect drawn = bar(point);
    return {drawn.left() - 2, 0, drawn.width() + 4, height()};
}

int Timeline::pointAt(int x) const
{
    int best = -1;
    int least = 12;
    for (int i = 0; i < static_cast<int>(m_x.size()); ++i)
        if (const int away = std::abs(m_x[static_cast<size_t>(i)] - x); away < least)
            best = i, least = away;
    return best;
}

/// "Points 3 of 12: …": a screen reader has no other way to see it.
void Timeline::describe()
{
    QString text = tr("%1 in all").arg(m_points.size());
    if (m_current >= 0)
        text
            = tr("%1 of %2: %3").arg(m_current + 1).arg(m_points.size()).arg(m_points[m_current].description);
    if (text == accessibleDescription())
        return;
    setAccessibleDescription(text);
    QAccessibleEvent event(this, QAccessible::DescriptionChanged);
    QAccessible::updateAccessibility(&event);
}

std::vector<std::pair<int, QString>> Timeline::ticks() const
{
    std::vector<std::pair<int, QString>> out;
    if (m_x.empty())
        return out;
    const double range = m_last - m_first;
    if (range <= 0) {
        out.emplace_back(m_x.front(), m_text(m_first));
        return out;
    }
    const int count = std::max(1, plot().width() / kBetweenTicks);
    const double step = m_isNumber ? std::max(1.0, roundStep(range / count)) : range / count;
    const double begin = m_isNumber ? std::ceil(m_first / step) * step : m_first;
    const int inner = std::max(1, plot().width() - kWidestBar);
    for (int i = 0; begin + i * step <= m_last + range * 1e-9; ++i) {
        const double place = begin + i * step;
        out.emplace_back(
            plot().left() + kWidestBar / 2 + static_cast<int>(std::lround((place - m_first) / range * inner)),
            m_text(place));
    }
    return out;
}

void Timeline::paintAxis(QPainter& painter) const
{
    const int line = fontMetrics().height();
    const int y = plot().bottom() + 1;
    painter.setPen(m_theme.colour(ThemeRole::Border));
    painter.drawLine(plot().left(), y, plot().right(), y);
    painter.setPen(m_theme.colour(ThemeRole::MutedText));
    int free = 0;
    for (const auto& [x, text] : ticks()) {
        const int needed = fontMetrics().horizontalAdvance(text);
        const int left = std::clamp(x - needed / 2, 0, std::max(0, width() - needed));
        if (left < free)
            continue;
        painter.drawLine(x, y, x, y + 3);
        painter.drawText(QRect(left, y + line + 6, needed + 1, line), Qt::AlignLeft, text);
        free = left + needed + 10;
    }
    for (int i = 1; i < static_cast<int>(m_points.size()); ++i) {
        const int left = m_x[static_cast<size_t>(i) - 1] + m_barWidth / 2 + 3;
        const int right = m_x[static_cast<size_t>(i)] - m_barWidth / 2 - 3;
        if (m_points[i].gap.isEmpty() || right - left < 6)
            continue;
        painter.fillRect(QRect(left, y - 7, right - left, 7),
            QBrush(m_theme.colour(ThemeRole::Warning), Qt::BDiagPattern));
        const QRect room(left, y - 10 - line, right - left, line);
        if (fontMetrics().horizontalAdvance(m_points[i].gap) <= room.width())
            painter.drawText(room, Qt::AlignCenter, m_points[i].gap);
    }
}

/// Over the highest bar, with a line at its top.
void Timeline::paintHeight(QPainter& painter) const
{
    const QString text = heightText();
    if (text.isEmpty())
        return;
    const int line = fontMetrics().height();
    painter.setPen(QPen(m_theme.colour(ThemeRole::Border), 1, Qt::DashLine));
    painter.drawLine(plot().left(), plot().top() - 1, plot().right(), plot().top() - 1);
    painter.setPen(m_theme.colour(ThemeRole::MutedText));
    painter.drawText(
        QRect(plot().left(), plot().top() - 6 - line, plot().width(), line), Qt::AlignLeft, text);
}

void Timeline::paintBar(QPainter& painter, int point) const
{
    const TimelinePoint& what = m_points[point];
    const QRect area = bar(point);
    if (point == m_hovered)
        painter.fillRect(QRect(column(point).left(), plot().top(), column(point).width(), plot().height()),
            m_theme.colour(ThemeRole::Hover));
    QColor colour = m_theme.colour(what.isOpen ? ThemeRole::Accent : ThemeRole::MutedText);
    colour.setAlphaF(what.isOpen ? 1.0F : kBarStrength);
    if (what.state == TimelinePoint::Whole) {
        painter.fillRect(area, colour);
    } else if (what.state == TimelinePoint::Unread) {
        painter.setPen(QPen(m_theme.colour(ThemeRole::MutedText), 1, Qt::DotLine));
        painter.drawRect(area.adjusted(0, 0, -1, -1));
    } else {
        const QColor error = m_theme.colour(ThemeRole::Error);
        painter.fillRect(area, m_theme.colour(ThemeRole::Surface));
        painter.fillRect(area, QBrush(error, Qt::BDiagPattern));
        painter.setPen(QPen(error, what.isOpen ? 2 : 1));
        painter.drawRect(area.adjusted(0, 0, -1, -1));
    }
    if (point == m_current) {
        painter.setPen(QPen(m_theme.colour(ThemeRole::Text), hasFocus() ? 2 : 1));
        painter.drawRect(area.adjusted(-3, -3, 2, 2));
    }
}

void Timeline::paintChanges(QPainter& painter) const
{
    const int line = fontMetrics().height();
    int free = 0;
    for (int i = 0; i < static_cast<int>(m_points.size()); ++i) {
        const QString& change = m_points[i].change;
        if (change.isEmpty())
            continue;
        const int x = m_x[static_cast<size_t>(i)];
        painter.setPen(QPen(m_theme.colour(ThemeRole::Info), 1, Qt::DashLine));
        painter.drawLine(x, line + 4, x, bar(i).top() - 5);
        const int needed = fontMetrics().horizontalAdvance(change);
        const int left = std::clamp(x - needed / 2, 0, std::max(0, width() - needed));
        if (left < free)
            continue; // its line shows that there is one, its tip says which
        painter.setPen(m_theme.colour(ThemeRole::Text));
        painter.drawText(QRect(left, 2, needed + 1, line), Qt::AlignLeft, change);
        free = left + needed + 12;
    }
}

/// The words under the bars; from the right, where the newest are.
void Timeline::paintMarks(QPainter& painter) const
{
    const int line = fontMetrics().height();
    const int y = plot().bottom() + 5;
    int taken = width();
    for (int i = static_cast<int>(m_points.size()) - 1; i >= 0; --i) {
        const TimelinePoint& point = m_points[i];
        if (point.mark.isEmpty())
            continue;
        const int needed = fontMetrics().horizontalAdvance(point.mark);
        const int left
            = std::clamp(m_x[static_cast<size_t>(i)] - needed / 2, 0, std::max(0, width() - needed));
        if (left + needed > taken)
            continue;
        painter.setPen(m_theme.colour(point.isOpen ? ThemeRole::Accent : ThemeRole::Text));
        painter.drawText(QRect(left, y, needed + 1, line), Qt::AlignLeft, point.mark);
        taken = left - 8;
    }
}

void Timeline::paintEvent(QPaintEvent* /*event*/)
{
    QPainter painter(this);
    painter.setLayoutDirection(Qt::LeftToRight); // an axis of time
    paintAxis(painter);
    paintHeight(painter);
    for (int i = 0; i < static_cast<int>(m_points.size()); ++i)
        paintBar(painter, i);
    paintChanges(painter);
    paintMarks(painter);
}

void Timeline::resizeEvent(QResizeEvent* /*event*/)
{
    arrange();
}

void Timeline::changeEvent(QEvent* event)
{
    QWidget::changeEvent(event);
    if (event->type() == QEvent::FontChange) {
        updateGeometry();
        arrange();
    }
}

void Timeline::keyPressEvent(QKeyEvent* event)
{
    if (const auto point = pointAfterKey(event->key(), m_current, static_cast<int>(m_points.size()) - 1))
        return choose(*point);
    const bool isEnter = event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter;
    if (!isEnter)
        return QWidget::keyPressEvent(event);
    if (m_current >= 0)
        Q_EMIT activated(m_current);
}

void Timeline::mousePressEvent(QMouseEvent* event)
{
    choose(pointAt(event->position().toPoint().x()));
}

void Timeline::mouseMoveEvent(QMouseEvent* event)
{
    if (const int point = pointAt(event->position().toPoint().x()); point != m_hovered) {
        m_hovered = point;
        update();
    }
}

void Timeline::mouseDoubleClickEvent(QMouseEvent* event)
{
    if (const int point = pointAt(event->position().toPoint().x());
        point >= 0 && event->button() == Qt::LeftButton)
        Q_EMIT activated(point);
}

void Timeline::leaveEvent(QEvent* /*event*/)
{
    m_hovered = -1;
    update();
}

void Timeline::contextMenuEvent(QContextMenuEvent* event)
{
    QPoint at = event->globalPos();
    if (event->reason() == QContextMenuEvent::Keyboard && m_current >= 0)
        at = mapToGlobal(bar(m_current).center());
    else
        choose(pointAt(event->pos().x()));
    if (m_current >= 0)
        Q_EMIT menuRequested(at);
}

bool Timeline::event(QEvent* event)
{
    if (event->type() != QEvent::ToolTip)
        return QWidget::event(event);
    const auto* help = static_cast<QHelpEvent*>(event);
    const int point = pointAt(help->pos().x());
    if (point >= 0)
        QToolTip::showText(help->globalPos(), m_points[point].description, this, column(point));
    else
        QToolTip::hideText();
    return true;
}

} // namespace shardscope::ui
