// SPDX-License-Identifier: Apache-2.0
#include "ui/widgets/stacked_bar.h"

#include "ui/text/text.h"

#include <QPainter>
#include <QPainterPath>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

StackedBar::StackedBar(Theme& theme, QWidget* parent)
    : QWidget(parent)
    , m_theme(theme)
{
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    connect(&theme, &Theme::changed, this, qOverload<>(&QWidget::update));
}

void StackedBar::setParts(QList<Part> parts)
{
    m_parts = std::move(parts);
    m_total = 0;
    QStringList spoken;
    for (const Part& part : m_parts) {
        m_total += part.bytes;
        spoken.append(part.name % u' ' % bytesText(part.bytes));
    }
    setAccessibleName(spoken.join(u", "_s));
    updateGeometry();
    update();
}

int StackedBar::lineHeight() const
{
    return fontMetrics().height() + 5;
}

QSize StackedBar::sizeHint() const
{
    return {240, kBarHeight + kGap + lineHeight() * static_cast<int>(m_parts.size())};
}

void StackedBar::paintEvent(QPaintEvent* /*event*/)
{
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    QPainterPath clip;
    clip.addRoundedRect(QRectF(0, 0, width(), kBarHeight), 4, 4);
    painter.save();
    painter.setClipPath(clip);
    painter.fillRect(0, 0, width(), kBarHeight, m_theme.colour(ThemeRole::SurfaceAlternate));
    double left = 0;
    for (const Part& part : m_parts) {
        const double share
            = m_total == 0 ? 0 : static_cast<double>(part.bytes) / static_cast<double>(m_total);
        const double right = left + share * width();
        painter.fillRect(QRectF(left, 0, right - left, kBarHeight), m_theme.hue(part.hue));
        painter.fillRect(QRectF(right - 1, 0, 1, kBarHeight), m_theme.colour(ThemeRole::Surface));
        left = right;
    }
    painter.restore();
    int top = kBarHeight + kGap;
    for (const Part& part : m_parts) {
        const QRect line(0, top, width(), lineHeight());
        painter.setPen(Qt::NoPen);
        painter.setBrush(m_theme.hue(part.hue));
        painter.drawRoundedRect(QRectF(0, line.center().y() - 4, 10, 10), 2, 2);
        const double share
            = m_total == 0 ? 0 : static_cast<double>(part.bytes) / static_cast<double>(m_total);
        const QString percent = percentText(share);
        const int percentWidth = fontMetrics().horizontalAdvance(u"100.0 %"_s) + 6;
        const QString size = bytesText(part.bytes);
        const int sizeWidth = fontMetrics().horizontalAdvance(size);
        painter.setPen(m_theme.colour(ThemeRole::MutedText));
        painter.drawText(line, Qt::AlignRight | Qt::AlignVCenter, percent);
        painter.setPen(m_theme.colour(ThemeRole::Text));
        painter.drawText(line.adjusted(0, 0, -percentWidth, 0), Qt::AlignRight | Qt::AlignVCenter, size);
        const int room = width() - 18 - percentWidth - sizeWidth - 8;
        painter.drawText(line.adjusted(18, 0, 0, 0), Qt::AlignLeft | Qt::AlignVCenter,
            fontMetrics().elidedText(part.name, Qt::ElideRight, room));
        top += lineHeight();
    }
}

} // namespace shardscope::ui
