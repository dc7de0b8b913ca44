// SPDX-License-Identifier: Apache-2.0
#include "ui/shell/drop_overlay.h"

#include <QPainter>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

DropOverlay::DropOverlay(const Theme& theme, QWidget* parent)
    : QWidget(parent)
    , m_theme(theme)
{
    setObjectName(u"dropOverlay"_s);
    setAttribute(Qt::WA_TransparentForMouseEvents);
    hide();
}

void DropOverlay::say(const QString& text)
{
    m_text = text;
    setVisible(!text.isEmpty());
    if (text.isEmpty())
        return;
    setAccessibleName(text);
    setGeometry(parentWidget()->rect());
    raise();
    update();
}

void DropOverlay::paintEvent(QPaintEvent* /*event*/)
{
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    QColor veil = m_theme.colour(ThemeRole::Window);
    veil.setAlpha(200);
    painter.fillRect(rect(), veil);
    QFont font = this->font();
    font.setPointSizeF(font.pointSizeF() * 1.3);
    painter.setFont(font);
    const int flags = static_cast<int>(Qt::AlignCenter) | static_cast<int>(Qt::TextWordWrap);
    const QRect room = rect().adjusted(40, 40, -40, -40);
    QRect box = painter.fontMetrics().boundingRect(room, flags, m_text).adjusted(-36, -28, 36, 28);
    box.moveCenter(rect().center());
    painter.setPen(QPen(m_theme.colour(ThemeRole::Accent), 2, Qt::DashLine));
    painter.setBrush(m_theme.colour(ThemeRole::InfoTint));
    painter.drawRoundedRect(box, 10, 10);
    painter.setPen(m_theme.colour(ThemeRole::Text));
    painter.drawText(box.adjusted(36, 28, -36, -28), flags, m_text);
}

} // namespace shardscope::ui
