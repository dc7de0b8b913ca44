// SPDX-License-Identifier: Apache-2.0
// What the map of files draws.
#include "ui/layoutmap/file_map.h"

#include "ui/text/text.h"
#include "ui/widgets/elided_text.h"

#include <QPaintEvent>
#include <QPainter>
#include <QScrollBar>

#include <algorithm>
#include <array>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

QColor FileMap::colourOf(uint32_t state) const
{
    // Neighbours differ, and none is the grey of what no state uses.
    constexpr std::array<size_t, 6> kHueOf{0, 5, 2, 7, 3, 8};
    return m_theme.hue(kHueOf[state % kHueOf.size()]);
}

void FileMap::paintEvent(QPaintEvent* /*event*/)
{
    QPainter painter(viewport());
    painter.fillRect(viewport()->rect(), m_theme.colour(ThemeRole::MapBackground));
    if (m_rows.empty()) {
        painter.setPen(m_theme.colour(ThemeRole::MutedText));
        painter.drawText(viewport()->rect(), static_cast<int>(Qt::AlignCenter), tr("No files"));
        return;
    }
    const int room = viewport()->height() - legendHeight();
    painter.save();
    painter.setClipRect(0, 0, viewport()->width(), room);
    const int first = verticalScrollBar()->value() / rowHeight();
    const int last = (verticalScrollBar()->value() + room) / rowHeight();
    for (int row = first; row <= last && row < static_cast<int>(m_rows.size()); ++row)
        paintRow(painter, static_cast<size_t>(row));
    painter.restore();
    paintLegend(painter);
}

void FileMap::paintRow(QPainter& painter, size_t row) const
{
    const QRect bar = barRect(row);
    const CheckpointFile& file = m_checkpoint->file(m_rows[row]);
    const bool isCurrent = row == m_current && hasFocus();
    painter.setPen(m_theme.colour(isCurrent ? ThemeRole::Text : ThemeRole::MutedText));
    const QRect label(8, bar.top(), bar.left() - 16, bar.height());
    painter.drawText(label, static_cast<int>(Qt::AlignVCenter | Qt::AlignLeft),
        elidedText(toText(file.name), fontMetrics(), label.width()));
    if (file.status == FileStatus::Missing) {
        painter.fillRect(bar, QBrush(m_theme.colour(ThemeRole::Missing), Qt::DiagCrossPattern));
        painter.setPen(m_theme.colour(ThemeRole::Text));
        painter.drawText(bar, static_cast<int>(Qt::AlignCenter), tr("missing"));
        return;
    }
    const double end = std::min(toX(bar, file.identity.bytes), bar.right() + 1.0);
    if (end > bar.left()) {
        const QRectF whole(bar.left(), bar.top(), end - bar.left(), bar.height());
        painter.fillRect(whole, m_theme.colour(ThemeRole::Padding));
        painter.fillRect(whole, QBrush(m_theme.colour(ThemeRole::PaddingHatch), Qt::Dense6Pattern));
    }
    paintExtents(painter, bar, m_rows[row]);
    if (file.status == FileStatus::Damaged) {
        painter.setPen(QPen(m_theme.colour(ThemeRole::Error), 2));
        painter.drawRect(QRectF(bar.left(), bar.top(), std::max(3.0, end - bar.left()), bar.height()));
    }
    if (isCurrent) {
        painter.setPen(QPen(m_theme.colour(ThemeRole::Accent), 2));
        painter.setBrush(Qt::NoBrush);
        painter.drawRect(bar.adjusted(-2, -1, 1, 1));
    }
}

/// One box for each run of pixels with the same state; costs what is seen, not what the file has.
void FileMap::paintExtents(QPainter& painter, const QRect& bar, FileId file) const
{
    if (!m_extents)
        return;
    const auto extents = m_extents->of(file);
    const double perPixel = static_cast<double>(m_shown) / bar.width();
    size_t at = FileExtents::firstAfter(extents, m_first);
    double drawn = bar.left();
    while (at < extents.size() && drawn <= bar.right()) {
        const FileExtent& extent = extents[at];
        const double left = std::max(toX(bar, extent.begin), drawn);
        const double right = std::min(std::max(toX(bar, extent.end), left + 1), bar.right() + 1.0);
        if (left > bar.right())
            break;
        const QRectF box(left, bar.top(), right - left, bar.height());
        painter.fillRect(box, colourOf(extent.state));
        drawn = right;
        // What ends before the next pixel is not drawn again.
        const auto next = m_first + static_cast<uint64_t>((right - bar.left()) * perPixel);
        at = std::max(at + 1, FileExtents::firstAfter(extents, next));
    }
}

void FileMap::paintLegend(QPainter& painter) const
{
    const int top = viewport()->height() - legendHeight();
    const QRect line(0, top, viewport()->width(), legendHeight());
    painter.fillRect(line, m_theme.colour(ThemeRole::Window));
    int x = 8;
    const int side = fontMetrics().ascent();
    const auto add = [&](const QBrush& brush, const QString& text) {
        const QRect box(x, top + (legendHeight() - side) / 2, side, side);
        painter.fillRect(box, m_theme.colour(ThemeRole::Padding));
        painter.fillRect(box, brush);
        painter.setPen(m_theme.colour(ThemeRole::Text));
        const int width = fontMetrics().horizontalAdvance(text);
        painter.drawText(QRect(box.right() + 6, top, width + 4, legendHeight()),
            static_cast<int>(Qt::AlignVCenter | Qt::AlignLeft), text);
        x = box.right() + width + 24;
    };
    if (m_extents) {
        for (uint32_t state = 0; state < m_extents->states().size(); ++state)
            add(colourOf(state), toText(m_extents->states()[state]));
    }
    add(QBrush(m_theme.colour(ThemeRole::PaddingHatch), Qt::Dense6Pattern), tr("no state"));
    add(QBrush(m_theme.colour(ThemeRole::Missing), Qt::DiagCrossPattern), tr("missing"));
    const QString scale = tr("width: %1").arg(bytesText(m_shown));
    painter.setPen(m_theme.colour(ThemeRole::MutedText));
    painter.drawText(line.adjusted(0, 0, -8, 0), static_cast<int>(Qt::AlignVCenter | Qt::AlignRight), scale);
}

} // namespace shardscope::ui
