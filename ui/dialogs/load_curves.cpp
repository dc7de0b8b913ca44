// SPDX-License-Identifier: Apache-2.0
#include "ui/dialogs/load_curves.h"

#include "ui/text/text.h"

#include <QHelpEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QPainterPath>
#include <QSlider>
#include <QStyle>
#include <QToolTip>

#include <algorithm>
#include <cmath>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

namespace {

constexpr int kLane = 26; ///< height of a curve, below its title

double paddingShare(const RankLoad& load)
{
    const auto all = static_cast<double>(load.elements + load.padding);
    return all == 0 ? 0 : static_cast<double>(load.padding) / all;
}

} // namespace

LoadCurves::LoadCurves(QSlider* slider, QWidget* parent)
    : QWidget(parent)
    , m_slider(slider)
{
    setObjectName(u"reshardCurves"_s);
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    connect(slider, &QSlider::valueChanged, this, &LoadCurves::showCurrent);
    showCurrent();
}

void LoadCurves::setPoints(std::vector<Point> points)
{
    m_points = std::move(points);
    updateGeometry();
    showCurrent();
}

void LoadCurves::setExpected(bool expected)
{
    m_expected = expected;
    updateGeometry();
    update();
}

QString LoadCurves::describe(const Point& point)
{
    const QString ranks
        = point.ranks == 1 ? tr("1 GPU") : tr("%1 GPUs").arg(countText(static_cast<uint64_t>(point.ranks)));
    if (!point.load)
        return tr("%1: not possible").arg(ranks);
    const QString padding = point.load->padding == 0
        ? tr("no padding")
        : tr("padding %1 elements (%2)")
              .arg(countText(point.load->padding), percentText(paddingShare(*point.load)));
    return tr("%1: %2 per GPU, %3").arg(ranks, bytesText(point.load->mostBytes), padding);
}

/// The slider's keys move along the curves, so a screen reader reads the point from it.
void LoadCurves::showCurrent()
{
    const auto step = static_cast<size_t>(m_slider->value());
    const QString text = step < m_points.size() ? describe(m_points[step]) : QString();
    setAccessibleName(tr("Bytes and padding of each GPU over the number of GPUs"));
    setAccessibleDescription(text);
    m_slider->setAccessibleDescription(text);
    update();
}

int LoadCurves::lineHeight() const
{
    return fontMetrics().height();
}

QSize LoadCurves::sizeHint() const
{
    const int title = fontMetrics().horizontalAdvance(tr("Bytes per GPU") % u"  1,023.9 MiB"_s);
    return {title, hasNothing() ? 0 : 2 * (lineHeight() + kLane) + 8};
}

double LoadCurves::xOf(int step) const
{
    const int handle = m_slider->style()->pixelMetric(QStyle::PM_SliderLength, nullptr, m_slider);
    const int room = width() - handle;
    const int at
        = QStyle::sliderPositionFromValue(0, std::max(m_slider->maximum(), 1), step, room, isRightToLeft());
    return handle / 2.0 + at;
}

int LoadCurves::stepAt(double x) const
{
    int nearest = 0;
    for (int step = 0; step < static_cast<int>(m_points.size()); ++step)
        if (std::abs(xOf(step) - x) < std::abs(xOf(nearest) - x))
            nearest = step;
    return nearest;
}

bool LoadCurves::event(QEvent* event)
{
    if (event->type() != QEvent::ToolTip || m_points.empty())
        return QWidget::event(event);
    const auto* help = static_cast<QHelpEvent*>(event);
    QToolTip::showText(
        help->globalPos(), describe(m_points[static_cast<size_t>(stepAt(help->pos().x()))]), this);
    return true;
}

void LoadCurves::mousePressEvent(QMouseEvent* event)
{
    if (event->button() == Qt::LeftButton && !m_points.empty())
        m_slider->setValue(stepAt(event->position().x()));
}

void LoadCurves::paintEvent(QPaintEvent* /*event*/)
{
    if (hasNothing())
        return;
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setLayoutDirection(Qt::LeftToRight); // a unit is behind its number in every language
    const auto aligned = [this](Qt::Alignment to) {
        return static_cast<int>(QStyle::visualAlignment(layoutDirection(), to | Qt::AlignVCenter));
    };
    const double lane = std::max((height() - 8) / 2.0 - lineHeight(), 4.0); // kLane, if the layout gives it
    const QRectF upper(0, lineHeight(), width(), lane);
    const QRectF lower(0, upper.bottom() + 6 + lineHeight(), width(), lane);
    const auto current = static_cast<size_t>(m_slider->value());
    const RankLoad* load
        = current < m_points.size() && m_points[current].load ? &*m_points[current].load : nullptr;
    const auto title = [&](const QRectF& body, const QString& name, const QString& value) {
        const QRectF line(0, body.top() - lineHeight(), width(), lineHeight());
        painter.setPen(palette().color(QPalette::PlaceholderText));
        painter.drawText(line, aligned(Qt::AlignLeft), name);
        painter.setPen(palette().color(QPalette::Text));
        painter.drawText(line, aligned(Qt::AlignRight), value);
        painter.setPen(QPen(palette().color(QPalette::Mid), 1));
        painter.drawLine(body.bottomLeft(), body.bottomRight());
    };
    title(upper, tr("Bytes per GPU"), load != nullptr ? bytesText(load->mostBytes) : QString());
    title(lower, tr("Padding"), load != nullptr ? percentText(paddingShare(*load)) : QString());
    if (m_points.empty())
        return;
    const double x = xOf(static_cast<int>(current));
    painter.setPen(QPen(palette().color(QPalette::Highlight), 1, Qt::DotLine));
    painter.drawLine(QPointF(x, upper.top()), QPointF(x, upper.bottom()));
    painter.drawLine(QPointF(x, lower.top()), QPointF(x, lower.bottom()));
    paintBytes(painter, upper);
    paintPadding(painter, lower);
}

/// Bytes fall with the number of GPUs over many powers of two: in a logarithmic scale.
void LoadCurves::paintBytes(QPainter& painter, const QRectF& lane) const
{
    double least = INFINITY;
    double most = 0;
    for (const Point& point : m_points) {
        if (!point.load || point.load->mostBytes == 0)
            continue;
        least = std::min(least, std::log2(static_cast<double>(point.load->mostBytes)));
        most = std::max(most, std::log2(static_cast<double>(point.load->mostBytes)));
    }
    const QColor colour = palette().color(QPalette::Highlight);
    std::optional<QPointF> former;
    for (int step = 0; step < static_cast<int>(m_points.size()); ++step) {
        const auto& load = m_points[static_cast<size_t>(step)].load;
        if (!load || load->mostBytes == 0) {
            former.reset();
            continue;
        }
        const double height = most <= least
            ? 0.5
            : (std::log2(static_cast<double>(load->mostBytes)) - least) / (most - least);
        const QPointF at(xOf(step), lane.bottom() - 3 - height * (lane.height() - 6));
        painter.setPen(QPen(colour, 1.5));
        if (former)
            painter.drawLine(*former, at);
        const double radius = step == m_slider->value() ? 3.5 : 1.5;
        painter.setBrush(colour);
        painter.setPen(Qt::NoPen);
        painter.drawEllipse(at, radius, radius);
        former = at;
    }
}

void LoadCurves::paintPadding(QPainter& painter, const QRectF& lane) const
{
    double most = 0;
    for (const Point& point : m_points)
        most = std::max(most, point.load ? paddingShare(*point.load) : 0);
    const double bar = std::clamp(xOf(1) - xOf(0) - 2, -1.0, 8.0);
    for (int step = 0; most > 0 && step < static_cast<int>(m_points.size()); ++step) {
        const auto& load = m_points[static_cast<size_t>(step)].load;
        if (!load)
            continue;
        const double height = paddingShare(*load) / most * lane.height();
        const bool isCurrent = step == m_slider->value();
        const double wide = std::max(std::abs(bar), 2.0);
        painter.fillRect(QRectF(xOf(step) - wide / 2, lane.bottom() - height, wide, height),
            palette().color(isCurrent ? QPalette::Highlight : QPalette::PlaceholderText));
    }
}

} // namespace shardscope::ui
