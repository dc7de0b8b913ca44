// SPDX-License-Identifier: Apache-2.0
#include "ui/layoutmap/map_rank_totals.h"

#include "ui/layoutmap/geometry/map_text.h"
#include "ui/layoutmap/rank_gutter.h"
#include "ui/layoutmap/tiles/map_cell_shapes.h"
#include "ui/layoutmap/tiles/map_tile_renderer.h"
#include "ui/text/rank_list.h"
#include "ui/text/text.h"

#include <QHelpEvent>
#include <QPainter>
#include <QToolTip>

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

} // namespace

MapRankTotals::MapRankTotals(MapViewport* viewport, QWidget* parent)
    : QWidget(parent)
    , m_viewport(viewport)
    , m_headers(viewport)
    , m_palette(std::make_shared<MapPalette>())
{
    setObjectName(QStringLiteral("mapRankTotals"));
    setAccessibleName(tr("Bytes and padding of each rank"));
    setSizePolicy(QSizePolicy::Fixed, QSizePolicy::Expanding);
    connect(viewport, &MapViewport::changed, this, qOverload<>(&QWidget::update));
}

void MapRankTotals::setStack(MapStackPtr stack)
{
    m_stack = std::move(stack);
    m_headers.setStack(m_stack);
    updateGeometry();
    update();
}

void MapRankTotals::setMapPalette(std::shared_ptr<const MapPalette> palette)
{
    m_palette = std::move(palette);
    m_headers.setMapPalette(m_palette);
    update();
}

int MapRankTotals::paddingWidth() const
{
    return std::max(fontMetrics().horizontalAdvance(tr("padding")),
        fontMetrics().horizontalAdvance(QStringLiteral("0,000 M")));
}

QSize MapRankTotals::sizeHint() const
{
    return {
        fontMetrics().horizontalAdvance(QStringLiteral("0,000.0 GiB")) + paddingWidth() + 3 * kMargin, 60};
}

void MapRankTotals::paintEvent(QPaintEvent* /*event*/)
{
    QPainter painter(this);
    painter.fillRect(rect(), QColor(m_palette->background));
    if (!m_stack || m_viewport->isEmpty()) {
        return;
    }
    const MapRange sections = m_viewport->visibleSections();
    for (uint64_t section = sections.begin; section < sections.end; ++section) {
        paintSection(painter, m_stack->source(static_cast<uint32_t>(section)));
    }
    paintTitles(painter);
}

void MapRankTotals::paintTitles(QPainter& painter) const
{
    const double ratio = devicePixelRatioF();
    painter.save();
    painter.scale(1 / ratio, 1 / ratio);
    m_headers.paintStrips(painter, static_cast<int>(std::ceil(width() * ratio)));
    painter.restore();
    painter.setPen(QColor(m_palette->mutedText));
    const MapRange sections = m_viewport->visibleSections();
    for (uint64_t section = sections.begin; section < sections.end; ++section) {
        const MapLayout& layout = m_viewport->layout();
        const double top
            = static_cast<double>(layout.headerTop(static_cast<uint32_t>(section)) - m_viewport->y()) / ratio;
        const QRectF strip(0, top, width() - kMargin, layout.headerHeight() / ratio);
        painter.drawText(strip, static_cast<int>(Qt::AlignRight | Qt::AlignVCenter), tr("padding"));
        painter.drawText(strip.adjusted(0, 0, -paddingWidth() - kMargin, 0),
            static_cast<int>(Qt::AlignRight | Qt::AlignVCenter), tr("bytes"));
    }
}

void MapRankTotals::paintBar(QPainter& painter, const QRectF& box, const MapQuery::Sum& sum) const
{
    const double all = static_cast<double>(std::max<uint64_t>(sum.elements + sum.padding, 1));
    const auto stored = static_cast<double>(sum.stored);
    painter.fillRect(box, QColor(blended(m_palette->background, m_palette->text, 24)));
    QRectF part = box;
    part.setWidth(box.width() * stored / all);
    painter.fillRect(part, QColor(blended(m_palette->background, m_palette->text, 130)));
    if (sum.padding > 0) {
        // At least two pixels, so that little padding is seen, too.
        QRectF padding = box;
        padding.setLeft(
            std::min(box.right() - box.width() * static_cast<double>(sum.padding) / all, box.right() - 2));
        painter.fillRect(padding, QColor(m_palette->padding));
        painter.setPen(QColor(m_palette->paddingHatch));
        paintHatch(painter, padding, 4, false);
    }
}

void MapRankTotals::paintSection(QPainter& painter, const MapSource& source) const
{
    const double ratio = devicePixelRatioF();
    const auto& scale = m_viewport->layout().rowScale();
    const auto visible = m_viewport->visible(source.number()).rows;
    const auto bodyTop = static_cast<double>(m_viewport->layout().bodyTop(source.number()) - m_viewport->y());
    const double rowHeight = std::max(1.0 / (scale.rowsPerPixel() * ratio), 1e-9);
    const double body = rowHeight - rowGap(scale.rowHeight()) / ratio;
    const double line = fontMetrics().height();
    const uint64_t step = rankLabelStep(rowHeight, line);
    for (uint64_t row = visible.begin / step * step; row < visible.end; row += step) {
        const auto number = static_cast<uint32_t>(row);
        const auto sum = source.amounts(number, 0, source.columns());
        const double top = (bodyTop + static_cast<double>(scale.topEdge(row))) / ratio;
        const bool hasBar = body >= line + kBarHeight + 4;
        const double height = std::max(body, line - 2);
        const QRectF box(kMargin, top, width() - 2 * kMargin, hasBar ? height - kBarHeight - 2 : height);
        painter.setPen(QColor(m_palette->mutedText));
        painter.drawText(box, static_cast<int>(Qt::AlignRight | Qt::AlignVCenter), paddingText(sum.padding));
        painter.setPen(QColor(m_palette->text));
        painter.drawText(box.adjusted(0, 0, -paddingWidth() - kMargin, 0),
            static_cast<int>(Qt::AlignRight | Qt::AlignVCenter), bytesText(sum.bytes));
        if (hasBar) {
            const double middle = box.center().y() + line / 2 + 1;
            paintBar(painter, QRectF(box.left(), middle, box.width(), kBarHeight), sum);
        }
    }
}

QString MapRankTotals::tooltipFor(const MapSource& source, uint32_t row)
{
    const auto sum = source.amounts(row, 0, source.columns());
    const auto all = source.total();
    const double mean = static_cast<double>(all.bytes) / std::max<uint32_t>(source.rows(), 1);
    const double balance = mean > 0 ? 100.0 * static_cast<double>(sum.bytes) / mean : 100.0;
    const QString title
        = source.unit().kind == UnitKind::Whole || source.projection() == MapQuery::Projection::Unrolled
        ? MapText::sectionName(source)
        : rankLabel(source.checkpoint(), source.checkpoint().rankOf(source.unit(), row));
    return tr("<b>%1</b><br>%2, %3 elements in %4<br>%5 elements of padding<br>%6 % of the mean of all ranks")
        .arg(title.toHtmlEscaped(), bytesText(sum.bytes), MapText::count(sum.elements),
            QString::fromStdString(source.state().name).toHtmlEscaped(), MapText::count(sum.padding),
            QString::number(balance, 'f', 1));
}

bool MapRankTotals::event(QEvent* event)
{
    if (event->type() == QEvent::ToolTip) {
        const auto* help = static_cast<QHelpEvent*>(event);
        const int y = static_cast<int>(help->pos().y() * devicePixelRatioF());
        const auto point = m_stack ? m_viewport->pointUnder({0, y}) : std::nullopt;
        if (point) {
            QToolTip::showText(help->globalPos(), tooltipFor(m_stack->sourceAt(*point), point->row), this);
        } else {
            QToolTip::hideText();
        }
        return true;
    }
    return QWidget::event(event);
}

} // namespace shardscope::ui
