// SPDX-License-Identifier: Apache-2.0
#include "ui/tensorview/tensor_grid.h"
#include "ui/text/unreadable.h"

#include "ui/text/text.h"

#include <QFontDatabase>
#include <QHelpEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QScrollBar>
#include <QToolTip>

#include <algorithm>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

namespace {

constexpr int kPad = 6;
constexpr uint64_t kMaxCopied = 10'000; ///< cells; for more, use files
constexpr int kWheelStep = 120;

} // namespace

TensorGrid::TensorGrid(Theme& theme, TensorPages& pages, ElementCursor& cursor, QWidget* parent)
    : QAbstractScrollArea(parent)
    , m_theme(theme)
    , m_pages(pages)
    , m_cursor(cursor)
    , m_rows(verticalScrollBar())
    , m_columns(horizontalScrollBar())
{
    makeCellsAccessible(); // before its name is set, for which Qt asks for the interface
    setObjectName(u"tensorGrid"_s);
    setAccessibleName(tr("Values"));
    setFrameShape(NoFrame);
    setFocusPolicy(Qt::StrongFocus);
    setLayoutDirection(Qt::LeftToRight); // indices and numbers are, in every language
    setFont(QFontDatabase::systemFont(QFontDatabase::FixedFont));
    viewport()->setFont(font());
    connect(&pages, &TensorPages::arrived, viewport(), QOverload<>::of(&QWidget::update));
    connect(&cursor, &ElementCursor::changed, this, &TensorGrid::followCursor);
    connect(&theme, &Theme::changed, viewport(), QOverload<>::of(&QWidget::update));
}

void TensorGrid::setSlice(TensorSlice slice)
{
    m_slice = std::move(slice);
    measure();
    m_at = m_slice.cellOf(m_cursor.element()).value_or(TensorSlice::Cell{});
    m_anchor = m_at;
    m_rows.reveal(m_at.row);
    m_columns.reveal(m_at.column);
    viewport()->update();
}

void TensorGrid::setFormat(const NumberFormat& format)
{
    m_format = format;
    measure();
    viewport()->update();
}

void TensorGrid::measure()
{
    const QFontMetrics metrics(font());
    const DType dtype = m_pages.source() ? m_pages.source()->dtype : DType::Float32;
    const auto widthOf = [&](const QString& text) { return metrics.horizontalAdvance(text) + 2 * kPad + 2; };
    const uint64_t rows = m_slice.rows();
    const uint64_t columns = m_slice.columns();
    m_metrics.row = metrics.height() + 4;
    m_metrics.top = metrics.height() + 6;
    m_metrics.left = widthOf(m_slice.rowLabel(rows == 0 ? 0 : rows - 1)) + 4;
    m_metrics.column = std::max({widthOf(widestValue(dtype, m_format)), widthOf(tr("unreadable")),
        widthOf(m_slice.columnLabel(columns == 0 ? 0 : columns - 1))});
    const auto seen = [](int room, int size) { return static_cast<uint64_t>(std::max(room / size, 1)); };
    m_rows.setLines(rows, seen(viewport()->height() - m_metrics.top, m_metrics.row));
    m_columns.setLines(columns, seen(viewport()->width() - m_metrics.left, m_metrics.column));
}

void TensorGrid::resizeEvent(QResizeEvent* event)
{
    QAbstractScrollArea::resizeEvent(event);
    measure();
}

void TensorGrid::scrollContentsBy(int /*dx*/, int /*dy*/)
{
    const bool rows = m_rows.takeBar();
    const bool columns = m_columns.takeBar();
    if (rows || columns)
        viewport()->update();
}

TensorSlice::Cell TensorGrid::visibleEnd() const
{
    const auto rows = static_cast<uint64_t>(
        std::max(0, (viewport()->height() - m_metrics.top + m_metrics.row - 1) / m_metrics.row));
    const auto columns = static_cast<uint64_t>(
        std::max(0, (viewport()->width() - m_metrics.left + m_metrics.column - 1) / m_metrics.column));
    return {std::min(m_rows.first() + rows, m_slice.rows()),
        std::min(m_columns.first() + columns, m_slice.columns())};
}

QRect TensorGrid::rectOf(TensorSlice::Cell cell) const
{
    return {m_metrics.left + static_cast<int>(cell.column - m_columns.first()) * m_metrics.column,
        m_metrics.top + static_cast<int>(cell.row - m_rows.first()) * m_metrics.row, m_metrics.column,
        m_metrics.row};
}

std::optional<TensorSlice::Cell> TensorGrid::cellAt(const QPoint& point) const
{
    if (point.x() < m_metrics.left || point.y() < m_metrics.top)
        return {};
    const TensorSlice::Cell cell{
        m_rows.first() + static_cast<uint64_t>((point.y() - m_metrics.top) / m_metrics.row),
        m_columns.first() + static_cast<uint64_t>((point.x() - m_metrics.left) / m_metrics.column)};
    return m_slice.elementAt(cell) ? std::optional(cell) : std::nullopt;
}

bool TensorGrid::isSelected(TensorSlice::Cell cell) const
{
    const auto [top, bottom] = std::minmax(m_at.row, m_anchor.row);
    const auto [left, right] = std::minmax(m_at.column, m_anchor.column);
    return cell.row >= top && cell.row <= bottom && cell.column >= left && cell.column <= right;
}

QString TensorGrid::cellText(TensorSlice::Cell cell) const
{
    const auto element = m_slice.elementAt(cell);
    const uint8_t* bytes = nullptr;
    if (!element)
        return {};
    switch (m_pages.element(*element, &bytes)) {
    case TensorPages::Known::NotYet:
        return u"…"_s;
    case TensorPages::Known::Missing:
        return lossText(
            *m_pages.source()->checkpoint, m_pages.source()->param, m_pages.source()->state, *element);
    case TensorPages::Known::Here:
        break;
    }
    return valueText(m_pages.source()->dtype, bytes, m_format);
}

bool TensorGrid::isComplete()
{
    const TensorSlice::Cell end = visibleEnd();
    const uint8_t* bytes = nullptr;
    bool all = true;
    for (uint64_t row = m_rows.first(); row < end.row; ++row) {
        for (uint64_t column = m_columns.first(); column < end.column; ++column) {
            const auto element = m_slice.elementAt({row, column});
            all = all && (!element || m_pages.element(*element, &bytes) != TensorPages::Known::NotYet);
        }
    }
    return all;
}

void TensorGrid::paintEvent(QPaintEvent* /*event*/)
{
    QPainter painter(viewport());
    painter.setLayoutDirection(Qt::LeftToRight); // a minus is at the left of its number in every language
    painter.fillRect(viewport()->rect(), m_theme.colour(ThemeRole::Surface));
    if (m_slice.isEmpty() || !m_pages.source()) {
        painter.setPen(m_theme.colour(ThemeRole::MutedText));
        painter.drawText(viewport()->rect(), Qt::AlignCenter, tr("This tensor has no elements."));
        return;
    }
    const TensorSlice::Cell end = visibleEnd();
    for (uint64_t row = m_rows.first(); row < end.row; ++row) {
        if (row % 2 == 1)
            painter.fillRect(
                QRect(0, rectOf({row, m_columns.first()}).top(), viewport()->width(), m_metrics.row),
                m_theme.colour(ThemeRole::SurfaceAlternate));
        for (uint64_t column = m_columns.first(); column < end.column; ++column)
            paintCell(painter, {row, column});
    }
    paintBorders(painter);
    paintHeaders(painter);
}

bool TensorGrid::areApart(TensorSlice::Cell a, TensorSlice::Cell b) const
{
    const auto first = m_slice.elementAt(a);
    const auto second = m_slice.elementAt(b);
    return first && second && m_pages.places()->runOf(*first) != m_pages.places()->runOf(*second);
}

bool TensorGrid::hasBorderLeft(TensorSlice::Cell cell) const
{
    return cell.column > 0 && areApart(cell, {cell.row, cell.column - 1});
}

bool TensorGrid::hasBorderAbove(TensorSlice::Cell cell) const
{
    return cell.row > 0 && areApart(cell, {cell.row - 1, cell.column});
}

void TensorGrid::paintBorders(QPainter& painter) const
{
    if (!m_pages.places() || m_pages.places()->runs().empty())
        return;
    const TensorSlice::Cell end = visibleEnd();
    painter.setPen(QPen(m_theme.colour(ThemeRole::Text), 1, Qt::DashLine));
    for (uint64_t row = m_rows.first(); row < end.row; ++row) {
        for (uint64_t column = m_columns.first(); column < end.column; ++column) {
            const QRect box = rectOf({row, column});
            if (hasBorderLeft({row, column}))
                painter.drawLine(box.topLeft(), box.bottomLeft());
            if (hasBorderAbove({row, column}))
                painter.drawLine(box.topLeft(), box.topRight());
        }
    }
}

QString TensorGrid::placeText(TensorSlice::Cell cell) const
{
    const auto element = m_slice.elementAt(cell);
    if (!element || !m_pages.source())
        return {};
    const QString rank = m_pages.places()->runText(*element);
    const QString index = m_pages.source()->indexText(*element);
    return rank.isEmpty() ? index : QString(index % u" · "_s % rank);
}

bool TensorGrid::viewportEvent(QEvent* event)
{
    if (event->type() != QEvent::ToolTip)
        return QAbstractScrollArea::viewportEvent(event);
    const auto* help = static_cast<QHelpEvent*>(event);
    const auto cell = cellAt(help->pos());
    QToolTip::showText(help->globalPos(), cell ? placeText(*cell) : QString(), this);
    return true;
}

CellTable TensorGrid::cellTable() const
{
    if (!m_pages.source() || m_slice.isEmpty())
        return {};
    return {cellCount(m_slice.rows()), cellCount(m_slice.columns()),
        CellTable::Cell{cellCount(m_at.row), cellCount(m_at.column)}};
}

QString TensorGrid::cellValue(int row, int column) const
{
    return cellText({static_cast<uint64_t>(row), static_cast<uint64_t>(column)});
}

QString TensorGrid::rowName(int row) const
{
    return tr("row %1").arg(m_slice.rowLabel(static_cast<uint64_t>(row)));
}

QString TensorGrid::columnName(int column) const
{
    return tr("column %1").arg(m_slice.columnLabel(static_cast<uint64_t>(column)));
}

QRect TensorGrid::cellRect(int row, int column) const
{
    const TensorSlice::Cell cell{static_cast<uint64_t>(row), static_cast<uint64_t>(column)};
    const TensorSlice::Cell end = visibleEnd();
    const bool seen = cell.row >= m_rows.first() && cell.row < end.row && cell.column >= m_columns.first()
        && cell.column < end.column;
    return seen ? rectOf(cell).translated(viewport()->pos()) : QRect();
}

std::optional<CellTable::Cell> TensorGrid::cellUnder(const QPoint& point) const
{
    const auto cell = cellAt(point - viewport()->pos());
    return cell ? std::optional(CellTable::Cell{cellCount(cell->row), cellCount(cell->column)})
                : std::nullopt;
}

bool TensorGrid::isCellSelected(int row, int column) const
{
    return isSelected({static_cast<uint64_t>(row), static_cast<uint64_t>(column)});
}

void TensorGrid::paintCell(QPainter& painter, TensorSlice::Cell cell)
{
    const QString text = cellText(cell);
    if (text.isEmpty())
        return;
    const QRect box = rectOf(cell);
    const bool current = cell == m_at;
    const bool selected = isSelected(cell);
    if (selected)
        painter.fillRect(box, m_theme.colour(current ? ThemeRole::Accent : ThemeRole::ShareBar));
    const QChar first = text.startsWith(u'-') && text.size() > 1 ? text[1] : text[0];
    const bool number = first.isDigit() || first == u'T' || first == u'F' || first == u'(';
    const bool hex = m_format.form == NumberForm::Hex;
    const bool isSpecial = !number && !hex && text != u"…"_s; // NaN, infinite or missing
    const bool zero = text == "0"_L1 || text == "-0"_L1;
    painter.setPen(m_theme.colour(current ? ThemeRole::AccentText
            : isSpecial                   ? ThemeRole::Error
            : zero                        ? ThemeRole::MutedText
                                          : ThemeRole::Text));
    painter.drawText(box.adjusted(kPad, 0, -kPad, 0), static_cast<int>(Qt::AlignRight | Qt::AlignVCenter),
        QFontMetrics(font()).elidedText(text, Qt::ElideRight, box.width() - 2 * kPad));
    if (current && hasFocus()) {
        painter.setPen(QPen(m_theme.colour(ThemeRole::Text), 1));
        painter.drawRect(box.adjusted(0, 0, -1, -1));
    }
}

void TensorGrid::paintHeaders(QPainter& painter) const
{
    const QColor ground = m_theme.colour(ThemeRole::SurfaceAlternate);
    const TensorSlice::Cell end = visibleEnd();
    painter.fillRect(QRect(0, 0, viewport()->width(), m_metrics.top), ground);
    painter.fillRect(QRect(0, 0, m_metrics.left, viewport()->height()), ground);
    const auto colour
        = [&](bool current) { return m_theme.colour(current ? ThemeRole::Text : ThemeRole::MutedText); };
    for (uint64_t column = m_columns.first(); column < end.column; ++column) {
        const QRect box = rectOf({m_rows.first(), column});
        painter.setPen(colour(column == m_at.column));
        painter.drawText(QRect(box.left(), 0, box.width() - kPad, m_metrics.top),
            static_cast<int>(Qt::AlignRight | Qt::AlignVCenter), m_slice.columnLabel(column));
    }
    for (uint64_t row = m_rows.first(); row < end.row; ++row) {
        const QRect box = rectOf({row, m_columns.first()});
        painter.setPen(colour(row == m_at.row));
        painter.drawText(QRect(0, box.top(), m_metrics.left - kPad - 2, box.height()),
            static_cast<int>(Qt::AlignRight | Qt::AlignVCenter), m_slice.rowLabel(row));
    }
    painter.setPen(m_theme.colour(ThemeRole::Border));
    painter.drawLine(0, m_metrics.top - 1, viewport()->width(), m_metrics.top - 1);
    painter.drawLine(m_metrics.left - 1, 0, m_metrics.left - 1, viewport()->height());
}

void TensorGrid::followCursor(uint64_t element)
{
    const auto cell = m_slice.cellOf(element);
    if (!cell || *cell == m_at)
        return;
    m_at = *cell;
    m_anchor = *cell;
    m_rows.reveal(m_at.row);
    m_columns.reveal(m_at.column);
    viewport()->update();
    announceCurrentCell(this);
    reportSelection();
}

void TensorGrid::centreCursor()
{
    m_rows.centre(m_at.row);
    m_columns.centre(m_at.column);
    viewport()->update();
}

void TensorGrid::moveTo(TensorSlice::Cell cell, bool extend)
{
    const auto element = m_slice.elementAt(cell);
    if (!element)
        return;
    m_at = cell;
    if (!extend)
        m_anchor = cell;
    m_rows.reveal(cell.row);
    m_columns.reveal(cell.column);
    viewport()->update();
    m_cursor.set(*element);
    setAccessibleDescription(
        tr("%1 in row %2, column %3")
            .arg(cellText(cell), m_slice.rowLabel(cell.row), m_slice.columnLabel(cell.column)));
    announceCurrentCell(this);
    reportSelection();
}

void TensorGrid::moveBy(int64_t rows, int64_t columns, bool extend)
{
    const auto moved = [](uint64_t from, int64_t by, uint64_t count) {
        if (by < 0)
            return from - std::min(from, static_cast<uint64_t>(-by));
        return std::min(from + static_cast<uint64_t>(by), count == 0 ? 0 : count - 1);
    };
    TensorSlice::Cell cell{
        moved(m_at.row, rows, m_slice.rows()), moved(m_at.column, columns, m_slice.columns())};
    while (!m_slice.elementAt(cell) && cell.column > 0)
        --cell.column; // the last line of a wrapped tensor may be short
    moveTo(cell, extend);
}

void TensorGrid::keyPressEvent(QKeyEvent* event)
{
    const bool extend = (event->modifiers() & Qt::ShiftModifier) != 0;
    const bool far = (event->modifiers() & Qt::ControlModifier) != 0;
    const auto page
        = static_cast<int64_t>(std::max(1, (viewport()->height() - m_metrics.top) / m_metrics.row - 1));
    constexpr int64_t kEnd = std::numeric_limits<int64_t>::max() / 2;
    switch (event->key()) {
    case Qt::Key_Left:
        return moveBy(0, -1, extend);
    case Qt::Key_Right:
        return moveBy(0, 1, extend);
    case Qt::Key_Up:
        return moveBy(-1, 0, extend);
    case Qt::Key_Down:
        return moveBy(1, 0, extend);
    case Qt::Key_PageUp:
        return moveBy(-page, 0, extend);
    case Qt::Key_PageDown:
        return moveBy(page, 0, extend);
    case Qt::Key_Home:
        return moveBy(far ? -kEnd : 0, -kEnd, extend);
    case Qt::Key_End:
        return moveBy(far ? kEnd : 0, kEnd, extend);
    default:
        QAbstractScrollArea::keyPressEvent(event);
    }
}

void TensorGrid::mousePressEvent(QMouseEvent* event)
{
    const auto cell = cellAt(event->pos());
    const bool keep = event->button() == Qt::RightButton && cell && isSelected(*cell);
    if (cell && !keep)
        moveTo(*cell, (event->modifiers() & Qt::ShiftModifier) != 0);
}

void TensorGrid::mouseMoveEvent(QMouseEvent* event)
{
    if (const auto cell = cellAt(event->pos()); cell && (event->buttons() & Qt::LeftButton) != 0)
        moveTo(*cell, true);
}

void TensorGrid::wheelEvent(QWheelEvent* event)
{
    const bool sideways = (event->modifiers() & Qt::ShiftModifier) != 0 || event->angleDelta().y() == 0;
    m_wheel += event->angleDelta().y() != 0 ? event->angleDelta().y() : event->angleDelta().x();
    const int steps = m_wheel / kWheelStep;
    m_wheel -= steps * kWheelStep;
    (sideways ? m_columns : m_rows).scrollBy(-3 * steps);
    viewport()->update();
    event->accept();
}

void TensorGrid::reportSelection()
{
    const uint64_t rows = std::max(m_at.row, m_anchor.row) - std::min(m_at.row, m_anchor.row) + 1;
    const uint64_t columns
        = std::max(m_at.column, m_anchor.column) - std::min(m_at.column, m_anchor.column) + 1;
    const QString block = tr("%1 × %2 selected").arg(countText(rows), countText(columns));
    const bool many = columns > kMaxCopied || rows > kMaxCopied / columns;
    Q_EMIT selectionChanged(rows == 1 && columns == 1 ? QString()
            : many ? tr("%1; %2 can be copied").arg(block, countText(kMaxCopied))
                   : block);
}

QString TensorGrid::selectedText()
{
    const auto [top, bottom] = std::minmax(m_at.row, m_anchor.row);
    const auto [left, right] = std::minmax(m_at.column, m_anchor.column);
    const NumberFormat shown = std::exchange(
        m_format, m_format.form == NumberForm::Hex ? m_format : NumberFormat{NumberForm::Exact, 0});
    QStringList lines;
    uint64_t copied = 0;
    for (uint64_t row = top; row <= bottom && copied < kMaxCopied; ++row) {
        QStringList cells;
        for (uint64_t column = left; column <= right && copied < kMaxCopied; ++column, ++copied)
            cells.append(cellText({row, column}));
        lines.append(cells.join(u'\t'));
    }
    m_format = shown;
    return lines.join(u'\n');
}

void TensorGrid::focusInEvent(QFocusEvent* event)
{
    QAbstractScrollArea::focusInEvent(event);
    viewport()->update();
}

void TensorGrid::focusOutEvent(QFocusEvent* event)
{
    QAbstractScrollArea::focusOutEvent(event);
    viewport()->update();
}

} // namespace shardscope::ui
