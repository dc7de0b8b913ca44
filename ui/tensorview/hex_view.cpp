// SPDX-License-Identifier: Apache-2.0
#include "ui/tensorview/hex_view.h"

#include "ui/text/text.h"

#include <QFontDatabase>
#include <QHelpEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QScrollBar>
#include <QToolTip>
#include <QtMath>

#include <algorithm>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

namespace {

constexpr uint64_t kLineBytes = 16;
constexpr int kPad = 8;
constexpr int kWheelStep = 120;

QString hexText(uint64_t value, int digits)
{
    return u"%1"_s.arg(value, digits, 16, QLatin1Char('0'));
}

/// The largest file of the tensor decides the width of all file offsets.
int fileDigits(const TensorSource& source)
{
    uint64_t most = 0;
    for (const CheckpointFile& file : source.checkpoint->files)
        most = std::max(most, file.identity.bytes);
    return std::max(static_cast<int>(QString::number(most, 16).size()), 4);
}

} // namespace

HexView::HexView(Theme& theme, TensorPages& pages, ElementCursor& cursor, QWidget* parent)
    : QAbstractScrollArea(parent)
    , m_theme(theme)
    , m_pages(pages)
    , m_cursor(cursor)
    , m_lines(verticalScrollBar())
{
    makeCellsAccessible(); // before its name is set, for which Qt asks for the interface
    setObjectName(u"tensorHex"_s);
    setAccessibleName(tr("Bytes of the elements"));
    setFrameShape(NoFrame);
    setFocusPolicy(Qt::StrongFocus);
    setLayoutDirection(Qt::LeftToRight); // bytes are, in every language
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
    const TensorSourcePtr& source = m_pages.source();
    const auto digits = static_cast<int>(QString::number(source ? source->bytes() : 0, 16).size());
    m_fileDigits = source ? fileDigits(*source) : 4;
    m_offsetWidth = m_charWidth * std::max(digits, 6) + 2 * kPad;
    m_placesWidth = m_offsetWidth + m_charWidth * std::max(m_fileDigits + 2, 7) + kPad;
    const uint64_t elements = source ? source->elements : 0;
    m_lines.setLines((elements + perLine() - 1) / perLine(), static_cast<uint64_t>(linesShown()));
    const int width = asciiLeft() + static_cast<int>(kLineBytes) * m_charWidth + kPad;
    horizontalScrollBar()->setRange(0, std::max(0, width - viewport()->width()));
    horizontalScrollBar()->setPageStep(viewport()->width());
}

int HexView::linesShown() const
{
    return std::max(1, viewport()->height() / m_rowHeight - 1); // below the head
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
    return m_placesWidth + kPad + static_cast<int>(elementInLine) * width;
}

QString HexView::elementText(uint64_t element) const
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

QString HexView::lineText(uint64_t line) const
{
    QStringList parts;
    for (uint64_t i = line * perLine(); m_pages.source() && i < (line + 1) * perLine(); ++i) {
        if (i < m_pages.source()->elements)
            parts.append(elementText(i));
    }
    return parts.join(u"  "_s);
}

QString HexView::asciiText(uint64_t line) const
{
    QString text;
    const TensorSourcePtr& source = m_pages.source();
    for (uint64_t i = line * perLine(); source && i < (line + 1) * perLine() && i < source->elements; ++i) {
        const uint8_t* bytes = nullptr;
        const bool isHere = m_pages.element(i, &bytes) == TensorPages::Known::Here;
        for (uint32_t byte = 0; byte < source->itemBytes(); ++byte)
            text += !isHere                                 ? u' '
                : bytes[byte] >= 0x20 && bytes[byte] < 0x7F ? static_cast<char16_t>(bytes[byte])
                                                            : u'·';
    }
    return text;
}

QString HexView::fileOffsetText(uint64_t line) const
{
    const auto place = m_pages.places() ? m_pages.places()->fragmentAt(line * perLine()) : std::nullopt;
    return place ? u"0x"_s % hexText(place->byteOffset, m_fileDigits) : QString();
}

QString HexView::placeText(uint64_t element) const
{
    const TensorSource& source = *m_pages.source();
    QStringList facts{source.indexText(element)};
    if (const QString rank = m_pages.places()->runText(element); !rank.isEmpty())
        facts.append(rank);
    if (const auto place = m_pages.places()->fragmentAt(element))
        facts.append(
            tr("%1, byte %2")
                .arg(toText(source.checkpoint->file(place->file).name), countText(place->byteOffset)));
    return facts.join(u" · "_s);
}

int HexView::asciiLeft() const
{
    return left(perLine()) + kPad;
}

QRect HexView::boxOf(uint64_t line, uint64_t elementInLine) const
{
    const auto item = static_cast<int>(m_pages.source()->itemBytes());
    return {left(elementInLine), m_rowHeight * (1 + static_cast<int>(line - m_lines.first())),
        m_charWidth * (3 * item - 1), m_rowHeight};
}

void HexView::paintEvent(QPaintEvent* /*event*/)
{
    QPainter painter(viewport());
    painter.setLayoutDirection(Qt::LeftToRight); // a minus is at the left of its number in every language
    painter.fillRect(viewport()->rect(), m_theme.colour(ThemeRole::Surface));
    const TensorSourcePtr& source = m_pages.source();
    if (!source || source->elements == 0)
        return;
    painter.translate(-horizontalScrollBar()->value(), 0);
    painter.fillRect(
        QRect(0, 0, m_placesWidth, viewport()->height()), m_theme.colour(ThemeRole::SurfaceAlternate));
    int y = m_rowHeight;
    for (uint64_t line = m_lines.first(); line < m_lines.lines() && y < viewport()->height(); ++line) {
        paintLine(painter, line, y);
        y += m_rowHeight;
    }
    paintHead(painter);
}

void HexView::paintHead(QPainter& painter) const
{
    const int width = std::max(viewport()->width() + horizontalScrollBar()->value(), asciiLeft());
    painter.fillRect(QRect(0, 0, width, m_rowHeight), m_theme.colour(ThemeRole::SurfaceAlternate));
    painter.setPen(m_theme.colour(ThemeRole::MutedText));
    const auto centred = static_cast<int>(Qt::AlignRight | Qt::AlignVCenter);
    painter.drawText(QRect(0, 0, m_offsetWidth - kPad, m_rowHeight), centred, tr("tensor"));
    painter.drawText(
        QRect(m_offsetWidth, 0, m_placesWidth - m_offsetWidth - kPad, m_rowHeight), centred, tr("file"));
    for (uint64_t i = 0; i < perLine(); ++i)
        painter.drawText(QRect(left(i), 0, left(1) - left(0), m_rowHeight),
            static_cast<int>(Qt::AlignLeft | Qt::AlignVCenter),
            u"+"_s % QString::number(i * m_pages.source()->itemBytes(), 16));
    painter.drawText(QRect(asciiLeft(), 0, 16 * m_charWidth, m_rowHeight),
        static_cast<int>(Qt::AlignLeft | Qt::AlignVCenter), tr("ASCII"));
    painter.setPen(m_theme.colour(ThemeRole::Border));
    painter.drawLine(0, m_rowHeight - 1, width, m_rowHeight - 1);
}

void HexView::paintLine(QPainter& painter, uint64_t line, int y) const
{
    const TensorSource& source = *m_pages.source();
    painter.setPen(m_theme.colour(ThemeRole::MutedText));
    const auto right = static_cast<int>(Qt::AlignRight | Qt::AlignVCenter);
    painter.drawText(QRect(0, y, m_offsetWidth - kPad, m_rowHeight), right,
        hexText(line * perLine() * source.itemBytes(), 4));
    painter.drawText(QRect(m_offsetWidth, y, m_placesWidth - m_offsetWidth - kPad, m_rowHeight), right,
        fileOffsetText(line));
    for (uint64_t i = 0; i < perLine() && line * perLine() + i < source.elements; ++i) {
        const uint64_t element = line * perLine() + i;
        const QRect box = boxOf(line, i);
        const bool current = element == m_cursor.element();
        paintBorders(painter, element, box);
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
        painter.drawText(box, static_cast<int>(Qt::AlignLeft | Qt::AlignVCenter), elementText(element));
    }
    painter.setPen(m_theme.colour(ThemeRole::Text));
    painter.drawText(QRect(asciiLeft(), y, static_cast<int>(kLineBytes + 1) * m_charWidth, m_rowHeight),
        static_cast<int>(Qt::AlignLeft | Qt::AlignVCenter), asciiText(line));
}

void HexView::paintBorders(QPainter& painter, uint64_t element, const QRect& box) const
{
    const ElementPlaces& places = *m_pages.places();
    if (places.runs().empty() || element == 0)
        return;
    const auto begins = [&](uint64_t before) {
        return element >= before && places.runOf(element) != places.runOf(element - before);
    };
    const int gap = m_charWidth / 2 + 1;
    painter.setPen(QPen(m_theme.colour(ThemeRole::Text), 1, Qt::DashLine));
    if (element % perLine() != 0 && begins(1))
        painter.drawLine(box.left() - gap - 1, box.top(), box.left() - gap - 1, box.bottom());
    if (begins(perLine()))
        painter.drawLine(box.left() - gap, box.top(), box.right() + gap, box.top());
}

CellTable HexView::cellTable() const
{
    const TensorSourcePtr& source = m_pages.source();
    if (!source || source->elements == 0)
        return {};
    const uint64_t element = m_cursor.element();
    return {cellCount(m_lines.lines()), static_cast<int>(perLine()),
        CellTable::Cell{cellCount(element / perLine()), static_cast<int>(element % perLine())}};
}

QString HexView::cellValue(int row, int column) const
{
    const uint64_t element = static_cast<uint64_t>(row) * perLine() + static_cast<uint64_t>(column);
    return element < m_pages.source()->elements ? elementText(element) : QString();
}

QString HexView::rowName(int row) const
{
    const auto line = static_cast<uint64_t>(row);
    const QString file = fileOffsetText(line);
    const QString offset = tr("offset 0x%1").arg(line * perLine() * m_pages.source()->itemBytes(), 0, 16);
    return file.isEmpty() ? offset : tr("%1, in the file %2").arg(offset, file);
}

QString HexView::columnName(int column) const
{
    return tr("element +%1").arg(column);
}

QRect HexView::cellRect(int row, int column) const
{
    const auto line = static_cast<uint64_t>(row);
    if (line < m_lines.first() || line >= m_lines.first() + static_cast<uint64_t>(linesShown()))
        return {};
    return boxOf(line, static_cast<uint64_t>(column))
        .translated(viewport()->pos() - QPoint(horizontalScrollBar()->value(), 0));
}

std::optional<CellTable::Cell> HexView::cellUnder(const QPoint& point) const
{
    const auto element = elementAt(point - viewport()->pos());
    return element ? std::optional(
               CellTable::Cell{cellCount(*element / perLine()), static_cast<int>(*element % perLine())})
                   : std::nullopt;
}

bool HexView::viewportEvent(QEvent* event)
{
    if (event->type() != QEvent::ToolTip)
        return QAbstractScrollArea::viewportEvent(event);
    const auto* help = static_cast<QHelpEvent*>(event);
    const auto element = elementAt(help->pos());
    QToolTip::showText(help->globalPos(), element ? placeText(*element) : QString(), this);
    return true;
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
    announceCurrentCell(this);
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
    const int64_t page = line * linesShown();
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

std::optional<uint64_t> HexView::elementAt(const QPoint& point) const
{
    if (!m_pages.source() || m_pages.source()->elements == 0 || point.y() < m_rowHeight)
        return {};
    const int x = point.x() + horizontalScrollBar()->value();
    const auto item = static_cast<int>(m_pages.source()->itemBytes());
    const int place = x >= asciiLeft() ? (x - asciiLeft()) / (m_charWidth * item)
                                       : (x - left(0)) / std::max(1, left(1) - left(0));
    const auto inLine = static_cast<uint64_t>(std::clamp(place, 0, static_cast<int>(perLine()) - 1));
    const uint64_t line = m_lines.first() + static_cast<uint64_t>(point.y() / m_rowHeight - 1);
    return std::min(line * perLine() + inLine, m_pages.source()->elements - 1);
}

void HexView::mousePressEvent(QMouseEvent* event)
{
    if (const auto element = elementAt(event->pos()))
        m_cursor.set(*element);
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
