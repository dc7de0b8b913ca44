// SPDX-License-Identifier: Apache-2.0
#include "ui/tensorview/hex_view.h"

#include <QFontDatabase>
#include <QMouseEvent>
#include <QPainter>
#include <QScrollBar>
#include <QtMath>

#include <algorithm>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

namespace {

constexpr uint64_t kLineBytes = 16;
constexpr int kPad = 8;
constexpr int kWheelStep = 120;

} // namespace

HexView::HexView(Theme& theme, TensorPages& pages, ElementCursor& cursor, QWidget* parent)
    : QAbstractScrollArea(parent)
    , m_theme(theme)
    , m_pages(pages)
    , m_cursor(cursor)
    , m_lines(verticalScrollBar())
{
    setObjectName(u"tensorHex"_s);
    setAccessibleName(tr("Bytes of the elements"));
    setFrameShape(NoFrame);
    setFocusPolicy(Qt::StrongFocus);
    setFont(QFontDatabase::systemFont(QFontDatabase::FixedFont));
    viewport()->setFont(font());
    connect(&pages, &TensorPages::arrived, viewport(), QOverload<>::of(&QWidget::update));
    connect(&cursor, &ElementCursor::changed, this, &HexView::followCursor);
    connect(&theme, &Theme::changed, viewport(), QOverload<>::of(&QWidget::update));
}

uint64_t HexView::perLine() const
{
    return std::max<uint64_t>(kLineBytes / (m_pages.source() ? m_pages.source()->itemBytes() : 1), 1);
}

void HexView::measure()
{
    const QFontMetricsF metrics(font());
    m_rowHeight = qCeil(metrics.height()) + 4;
    m_charWidth = qCeil(metrics.horizontalAdvance(u'0')); // a width cut to pixels would cut the last digit
    const uint64_t bytes = m_pages.source() ? m_pages.source()->bytes() : 0;
    const auto digits = static_cast<int>(QString::number(bytes, 16).size());
    m_offsetWidth = m_charWidth * std::max(digits, 4) + 2 * kPad;
    const uint64_t elements = m_pages.source() ? m_pages.source()->elements : 0;
    m_lines.setLines((elements + perLine() - 1) / perLine(),
        static_cast<uint64_t>(std::max(1, viewport()->height() / m_rowHeight)));
    const int width = left(perLine()) + kPad;
    horizontalScrollBar()->setRange(0, std::max(0, width - viewport()->width()));
    horizontalScrollBar()->setPageStep(viewport()->width());
}

void HexView::reset()
{
    measure();
    m_lines.setFirst(0);
    m_lines.reveal(m_cursor.element() / perLine());
    viewport()->update();
}

/// Where an element of a line begins: two digits and a space per byte, a little more between elements.
int HexView::left(uint64_t elementInLine) const
{
    const auto item = static_cast<int>(m_pages.source() ? m_pages.source()->itemBytes() : 1);
    const int width = item * 3 * m_charWidth + (item > 1 ? m_charWidth : 0);
    return m_offsetWidth + kPad + static_cast<int>(elementInLine) * width;
}

QString HexView::elementText(uint64_t element)
{
    const uint8_t* bytes = nullptr;
    const auto known = m_pages.element(element, &bytes);
    QStringList parts;
    for (uint32_t i = 0; i < m_pages.source()->itemBytes(); ++i)
        parts.append(known == TensorPages::Known::Here ? u"%1"_s.arg(bytes[i], 2, 16, QLatin1Char('0'))
                : known == TensorPages::Known::NotYet  ? u"…"_s
                                                       : u"··"_s);
    return parts.join(u' ');
}

QString HexView::lineText(uint64_t line)
{
    QStringList parts;
    for (uint64_t i = line * perLine(); m_pages.source() && i < (line + 1) * perLine(); ++i) {
        if (i < m_pages.source()->elements)
            parts.append(elementText(i));
    }
    return parts.join(u"  "_s);
}

void HexView::paintEvent(QPaintEvent* /*event*/)
{
    QPainter painter(viewport());
    painter.fillRect(viewport()->rect(), m_theme.colour(ThemeRole::Surface));
    const TensorSourcePtr& source = m_pages.source();
    if (!source || source->elements == 0)
        return;
    painter.translate(-horizontalScrollBar()->value(), 0);
    painter.fillRect(
        QRect(0, 0, m_offsetWidth, viewport()->height()), m_theme.colour(ThemeRole::SurfaceAlternate));
    int y = 0;
    for (uint64_t line = m_lines.first(); line < m_lines.lines() && y < viewport()->height(); ++line) {
        painter.setPen(m_theme.colour(ThemeRole::MutedText));
        const uint64_t offset = line * perLine() * source->itemBytes();
        painter.drawText(QRect(0, y, m_offsetWidth - kPad, m_rowHeight),
            static_cast<int>(Qt::AlignRight | Qt::AlignVCenter),
            u"%1"_s.arg(offset, 4, 16, QLatin1Char('0')));
        for (uint64_t i = 0; i < perLine() && line * perLine() + i < source->elements; ++i) {
            const uint64_t element = line * perLine() + i;
            const QString text = elementText(element);
            const QRect box(
                left(i), y, m_charWidth * static_cast<int>(3 * source->itemBytes() - 1), m_rowHeight);
            const bool current = element == m_cursor.element();
            if (current) {
                painter.fillRect(box.adjusted(-3, 1, 3, -1), m_theme.colour(ThemeRole::Accent));
                if (hasFocus()) {
                    painter.setPen(m_theme.colour(ThemeRole::Text));
                    painter.drawRect(box.adjusted(-3, 1, 2, -2));
                }
            }
            painter.setPen(m_theme.colour(current ? ThemeRole::AccentText
                    : i % 2 == 0                  ? ThemeRole::Text
                                                  : ThemeRole::MutedText));
            painter.drawText(box, static_cast<int>(Qt::AlignLeft | Qt::AlignVCenter), text);
        }
        y += m_rowHeight;
    }
}

void HexView::resizeEvent(QResizeEvent* event)
{
    QAbstractScrollArea::resizeEvent(event);
    measure();
}

void HexView::scrollContentsBy(int /*dx*/, int /*dy*/)
{
    m_lines.takeBar();
    viewport()->update();
}

void HexView::followCursor(uint64_t element)
{
    m_lines.reveal(element / perLine());
    viewport()->update();
}

void HexView::moveBy(int64_t elements)
{
    if (!m_pages.source() || m_pages.source()->elements == 0)
        return;
    const uint64_t now = m_cursor.element();
    m_cursor.set(elements < 0
            ? now - std::min(now, static_cast<uint64_t>(-elements))
            : std::min(now + static_cast<uint64_t>(elements), m_pages.source()->elements - 1));
}

void HexView::keyPressEvent(QKeyEvent* event)
{
    const auto line = static_cast<int64_t>(perLine());
    const int64_t page = line * std::max(1, viewport()->height() / m_rowHeight - 1);
    constexpr int64_t kEnd = std::numeric_limits<int64_t>::max() / 2;
    switch (event->key()) {
    case Qt::Key_Left:
        return moveBy(-1);
    case Qt::Key_Right:
        return moveBy(1);
    case Qt::Key_Up:
        return moveBy(-line);
    case Qt::Key_Down:
        return moveBy(line);
    case Qt::Key_PageUp:
        return moveBy(-page);
    case Qt::Key_PageDown:
        return moveBy(page);
    case Qt::Key_Home:
        return moveBy(-kEnd);
    case Qt::Key_End:
        return moveBy(kEnd);
    default:
        QAbstractScrollArea::keyPressEvent(event);
    }
}

void HexView::mousePressEvent(QMouseEvent* event)
{
    if (!m_pages.source() || m_pages.source()->elements == 0)
        return;
    const int x = event->pos().x() + horizontalScrollBar()->value() - left(0);
    const int width = std::max(1, left(1) - left(0));
    const auto inLine = static_cast<uint64_t>(std::clamp(x / width, 0, static_cast<int>(perLine()) - 1));
    const uint64_t line = m_lines.first() + static_cast<uint64_t>(event->pos().y() / m_rowHeight);
    m_cursor.set(std::min(line * perLine() + inLine, m_pages.source()->elements - 1));
}

void HexView::wheelEvent(QWheelEvent* event)
{
    m_wheel += event->angleDelta().y();
    const int steps = m_wheel / kWheelStep;
    m_wheel -= steps * kWheelStep;
    m_lines.scrollBy(-3 * steps);
    viewport()->update();
    event->accept();
}

void HexView::focusInEvent(QFocusEvent* event)
{
    QAbstractScrollArea::focusInEvent(event);
    viewport()->update();
}

void HexView::focusOutEvent(QFocusEvent* event)
{
    QAbstractScrollArea::focusOutEvent(event);
    viewport()->update();
}

} // namespace shardscope::ui
