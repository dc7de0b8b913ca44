// SPDX-License-Identifier: Apache-2.0
#include "ui/widgets/stacked_bar.h"

#include "ui/text/text.h"
#include "ui/widgets/link_button.h"

#include <QPainter>
#include <QPainterPath>
#include <QStyle>
#include <QVBoxLayout>

#include <algorithm>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

namespace {

double shareOf(uint64_t bytes, uint64_t total)
{
    return total == 0 ? 0 : static_cast<double>(bytes) / static_cast<double>(total);
}

} // namespace

/// One part in the legend.
class StackedBar::Line final : public LinkButton
{
public:
    Line(Theme& theme, const Part& part, double share, QWidget* parent)
        : LinkButton(part.name, parent)
        , m_theme(theme)
        , m_hue(part.hue)
        , m_size(bytesText(part.bytes))
        , m_percent(percentText(share))
    {
        setObjectName(u"barLine"_s);
        setAccessibleName(part.name % u": "_s % m_size % u", "_s % m_percent);
        setToolTip(part.name % u": "_s % exactBytesText(part.bytes));
        setExactText(toolTip());
        setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    }

    [[nodiscard]] bool hasHeightForWidth() const override { return false; }
    [[nodiscard]] QSize sizeHint() const override { return {160, fontMetrics().height() + 5}; }

protected:
    void paintEvent(QPaintEvent* /*event*/) override
    {
        QPainter painter(this);
        painter.setRenderHint(QPainter::Antialiasing);
        const auto placed
            = [this](QRect place) { return QStyle::visualRect(layoutDirection(), rect(), place); };
        const int middle = height() / 2;
        painter.setPen(Qt::NoPen);
        painter.setBrush(m_theme.hue(m_hue));
        painter.drawRoundedRect(QRectF(placed({0, middle - 5, 10, 10})), 2, 2);
        const int percentWidth = fontMetrics().horizontalAdvance(u"100.0 %"_s) + 6;
        const int sizeWidth = fontMetrics().horizontalAdvance(m_size);
        const Qt::Alignment far
            = QStyle::visualAlignment(layoutDirection(), Qt::AlignRight) | Qt::AlignVCenter;
        const Qt::Alignment near
            = QStyle::visualAlignment(layoutDirection(), Qt::AlignLeft) | Qt::AlignVCenter;
        const auto draw = [&](QRect place, Qt::Alignment alignment, const QString& words) {
            painter.drawText(placed(place), static_cast<int>(alignment) | Qt::TextForceLeftToRight, words);
        };
        painter.setPen(m_theme.colour(ThemeRole::MutedText));
        draw({width() - percentWidth, 0, percentWidth, height()}, far, m_percent);
        painter.setPen(m_theme.colour(ThemeRole::Text));
        draw({width() - percentWidth - sizeWidth, 0, sizeWidth, height()}, far, m_size);
        QFont name = font();
        name.setUnderline(underMouse() || hasFocus());
        painter.setFont(name);
        painter.setPen(palette().color(QPalette::Link));
        const int room = width() - 18 - percentWidth - sizeWidth - 8;
        draw({18, 0, room, height()}, near, fontMetrics().elidedText(text(), Qt::ElideRight, room));
    }

private:
    Theme& m_theme;
    size_t m_hue;
    QString m_size;
    QString m_percent;
};

StackedBar::StackedBar(Theme& theme, QWidget* parent)
    : QWidget(parent)
    , m_theme(theme)
    , m_lines(new QVBoxLayout(this))
{
    m_lines->setContentsMargins(0, kBarHeight + kGap, 0, 0);
    m_lines->setSpacing(0);
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
    while (QLayoutItem* item = m_lines->takeAt(0)) {
        delete item->widget();
        delete item;
    }
    for (int i = 0; i < m_parts.size(); ++i) {
        auto* line = new Line(m_theme, m_parts[i], shareOf(m_parts[i].bytes, m_total), this);
        connect(line, &QAbstractButton::clicked, this, [this, i] { Q_EMIT activated(i); });
        m_lines->addWidget(line);
    }
    update();
}

void StackedBar::changeEvent(QEvent* event)
{
    QWidget::changeEvent(event);
    if (event->type() == QEvent::FontChange)
        updateGeometry();
}

void StackedBar::paintEvent(QPaintEvent* /*event*/)
{
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    QPainterPath clip;
    clip.addRoundedRect(QRectF(0, 0, width(), kBarHeight), 4, 4);
    painter.setClipPath(clip);
    painter.fillRect(0, 0, width(), kBarHeight, m_theme.colour(ThemeRole::SurfaceAlternate));
    if (layoutDirection() == Qt::RightToLeft) {
        painter.translate(width(), 0);
        painter.scale(-1, 1);
    }
    double left = 0;
    for (const Part& part : m_parts) {
        const double right = left + shareOf(part.bytes, m_total) * width();
        painter.fillRect(QRectF(left, 0, right - left, kBarHeight), m_theme.hue(part.hue));
        painter.fillRect(QRectF(right - 1, 0, 1, kBarHeight), m_theme.colour(ThemeRole::Surface));
        left = right;
    }
}

} // namespace shardscope::ui
