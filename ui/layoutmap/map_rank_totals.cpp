// SPDX-License-Identifier: Apache-2.0
#include "ui/layoutmap/map_rank_totals.h"

#include "core/layout/rank_load.h"
#include "ui/layoutmap/geometry/map_text.h"
#include "ui/layoutmap/tiles/map_cell_shapes.h"
#include "ui/text/rank_list.h"
#include "ui/text/text.h"

#include <QPainter>

#include <algorithm>
#include <cmath>

namespace shardscope::ui {

namespace {

constexpr int kMargin = 8;
constexpr double kBarHeight = 4;

QString paddingText(uint64_t elements)
{
    return elements == 0 ? QStringLiteral("–") : shortCountText(elements);
}

/// Of all states together.
double bytesPerElement(const MapSource& source)
{
    uint64_t bytes = 0;
    for (const UnitState& state : source.unit().states) {
        bytes += itemSize(state.dtype);
    }
    return static_cast<double>(bytes);
}

} // namespace

MapRankTotals::MapRankTotals(MapViewport* viewport, QWidget* parent)
    : MapSideColumn(viewport, parent)
{
    setObjectName(QStringLiteral("mapRankTotals"));
    setAccessibleName(tr("Bytes and padding of each rank"));
}

void MapRankTotals::stackChanged()
{
    m_ofRanks.clear();
    m_longest = 1;
    for (uint32_t i = 0; m_stack && i < m_stack->count(); ++i) {
        const MapSource& source = m_stack->source(i);
        if (!source.files()) {
            m_longest = std::max(m_longest, static_cast<double>(source.columns()) * bytesPerElement(source));
        }
    }
}

int MapRankTotals::paddingWidth() const
{
    return std::max(fontMetrics().horizontalAdvance(tr("padding")),
        fontMetrics().horizontalAdvance(QStringLiteral("0,000 M")));
}

QSize MapRankTotals::sizeHint() const
{
    const int bytes = std::max(fontMetrics().horizontalAdvance(QStringLiteral("of 0,000.0 GiB")),
        fontMetrics().horizontalAdvance(tr("all states")));
    return {bytes + paddingWidth() + 3 * kMargin, 60};
}

void MapRankTotals::paintEvent(QPaintEvent* /*event*/)
{
    QPainter painter(this);
    painter.setLayoutDirection(Qt::LeftToRight); // without it, the program's
    painter.fillRect(rect(), QColor(m_palette->background));
    forEachSection([&](const MapSource& source) { paintSection(painter, source); });
    const double ratio = devicePixelRatioF();
    QFont font = this->font();
    font.setPixelSize(static_cast<int>(std::lround(QFontInfo(font).pixelSize() * ratio)));
    const int margin = static_cast<int>(std::lround(kMargin * ratio));
    const int padding = static_cast<int>(std::lround(paddingWidth() * ratio));
    painter.scale(1 / ratio, 1 / ratio);
    painter.setFont(font);
    painter.setPen(QColor(m_palette->mutedText));
    constexpr int kRight = static_cast<int>(Qt::AlignRight | Qt::AlignVCenter);
    headers().paintStrips(painter, static_cast<int>(std::ceil(width() * ratio)), [&](const QRect& strip) {
        const QRect titles = strip.adjusted(0, 0, -margin, 0);
        painter.drawText(titles, kRight, tr("padding"));
        painter.drawText(titles.adjusted(0, 0, -padding - margin, 0), kRight, tr("all states"));
    });
}

void MapRankTotals::paintBar(
    QPainter& painter, const QRectF& box, const MapQuery::Sum& sum, double length) const
{
    const double all = static_cast<double>(std::max<uint64_t>(sum.elements + sum.padding, 1));
    const auto stored = static_cast<double>(sum.stored);
    painter.fillRect(box, QColor(blended(m_palette->background, m_palette->text, 24)));
    const double width = box.width() * std::min(length, 1.0);
    QRectF part = box;
    part.setWidth(width * stored / all);
    painter.fillRect(part, QColor(blended(m_palette->background, m_palette->text, 130)));
    if (sum.padding > 0 && width >= 2) {
        // At least two pixels, so that little padding is seen, too.
        QRectF padding = box;
        padding.setRight(box.left() + width);
        padding.setLeft(
            std::min(padding.right() - width * static_cast<double>(sum.padding) / all, padding.right() - 2));
        painter.fillRect(padding, QColor(m_palette->padding));
        painter.setPen(QColor(m_palette->paddingHatch));
        paintHatch(painter, padding, 4, false);
    }
}

std::optional<uint64_t> MapRankTotals::bytesOfRank(const MapSource& source, uint32_t row) const
{
    const FlatUnit& unit = source.unit();
    if (unit.kind == UnitKind::Whole || source.projection() == MapQuery::Projection::Unrolled) {
        return std::nullopt;
    }
    const auto [at, isNew] = m_ofRanks.try_emplace({unit.part, unit.dpRankOf(row)});
    if (isNew) {
        at->second = bytesOnRank(source.checkpoint(), unit.part, unit.dpRankOf(row));
    }
    return at->second;
}

void MapRankTotals::paintSection(QPainter& painter, const MapSource& source) const
{
    const double line = fontMetrics().height();
    const bool hasBar = bodyHeight() >= line + kBarHeight + 4;
    const bool hasRank = m_stack->count() > 1 && bodyHeight() >= 2 * line + kBarHeight + 6;
    constexpr int kRight = static_cast<int>(Qt::AlignRight | Qt::AlignVCenter);
    forEachLabelledRow(source, [&](uint32_t row, double top, double height) {
        const auto sum = source.amounts(row, 0, source.columns());
        const QRectF box(kMargin, top, width() - 2 * kMargin, hasBar ? height - kBarHeight - 2 : height);
        painter.setPen(QColor(m_palette->mutedText));
        painter.drawText(box, kRight, paddingText(sum.padding));
        painter.setPen(QColor(m_palette->text));
        const auto ofRank = hasRank ? bytesOfRank(source, row) : std::nullopt;
        const double up = ofRank ? line / 2 : 0; // two lines, one of them above the middle
        const QRectF bytes = box.adjusted(0, -up, -paddingWidth() - kMargin, -up);
        painter.drawText(bytes, kRight, bytesText(source.bytesOfStates(row)));
        if (ofRank) {
            painter.setPen(QColor(m_palette->mutedText));
            painter.drawText(bytes.translated(0, line), kRight, tr("of %1").arg(bytesText(*ofRank)));
        }
        if (hasBar) {
            const double middle = box.center().y() + line / 2 + 1 + up;
            const double whole = static_cast<double>(sum.elements + sum.padding) * bytesPerElement(source);
            paintBar(
                painter, QRectF(bytes.left(), middle, bytes.width(), kBarHeight), sum, whole / m_longest);
        }
    });
}

QString MapRankTotals::tooltipFor(MapSource::Point row) const
{
    const MapSource& source = m_stack->sourceAt(row);
    const auto sum = source.amounts(row.row, 0, source.columns());
    const double mean = static_cast<double>(source.total().bytes) / std::max<uint32_t>(source.rows(), 1);
    const double balance = mean > 0 ? 100.0 * static_cast<double>(sum.bytes) / mean : 100.0;
    const QString title
        = source.unit().kind == UnitKind::Whole || source.projection() == MapQuery::Projection::Unrolled
        ? MapText::sectionName(source)
        : rankLabel(source.checkpoint(), source.checkpoint().rankOf(source.unit(), row.row));
    QString text = tr("<b>%1</b><br>all states of this section: %2<br>")
                       .arg(title.toHtmlEscaped(), bytesText(source.bytesOfStates(row.row)));
    if (const auto ofRank = bytesOfRank(source, row.row)) {
        text += tr("all states of all sections on this rank: %1<br>").arg(bytesText(*ofRank));
    }
    return text
        + tr("%1 of it: %2, %3 elements<br>%4 elements of padding<br>%5 % of the mean of all ranks")
              .arg(QString::fromStdString(source.state().name).toHtmlEscaped(), bytesText(sum.bytes),
                  MapText::count(sum.elements), MapText::count(sum.padding),
                  QString::number(balance, 'f', 1));
}

} // namespace shardscope::ui
