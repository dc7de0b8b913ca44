// SPDX-License-Identifier: Apache-2.0
#include "ui/layoutmap/rank_gutter.h"

#include "core/base/text.h"
#include "ui/layoutmap/geometry/map_text.h"
#include "ui/layoutmap/tiles/map_tile_renderer.h"
#include "ui/text/rank_list.h"

#include <QHelpEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>

#include <algorithm>
#include <bit>
#include <cmath>

namespace shardscope::ui {

namespace {

constexpr double kLowestRowWithDot = 9.0;

} // namespace

uint64_t rankLabelStep(double rowHeight, double lineHeight)
{
    return std::bit_ceil(static_cast<uint64_t>(std::max(1.0, std::ceil(lineHeight / rowHeight))));
}

int8_t commonSeverity(const MapStack& stack)
{
    int8_t common = stack.worstSeverity();
    for (uint32_t section = 0; section < stack.count() && common > 0; ++section) {
        const MapSource& source = stack.source(section);
        for (uint32_t row = 0; row < source.rows() && common > 0; ++row) {
            common = std::min(common, source.worstSeverity(row));
        }
    }
    return common;
}

RankGutter::RankGutter(MapViewport* viewport, QWidget* parent)
    : QWidget(parent)
    , m_viewport(viewport)
    , m_headers(viewport)
    , m_palette(std::make_shared<MapPalette>())
{
    setObjectName(QStringLiteral("rankGutter"));
    setAccessibleName(tr("Ranks"));
    setSizePolicy(QSizePolicy::Fixed, QSizePolicy::Expanding);
    connect(viewport, &MapViewport::changed, this, qOverload<>(&QWidget::update));
}

void RankGutter::setStack(MapStackPtr stack)
{
    m_stack = std::move(stack);
    m_headers.setStack(m_stack);
    m_hovered.reset();
    m_commonSeverity = m_stack ? commonSeverity(*m_stack) : int8_t{-1};
    updateGeometry();
    update();
}

void RankGutter::setMapPalette(std::shared_ptr<const MapPalette> palette)
{
    m_palette = std::move(palette);
    m_headers.setMapPalette(m_palette);
    update();
}

void RankGutter::setHovered(std::optional<MapSource::Point> row)
{
    const bool same = row.has_value() == m_hovered.has_value()
        && (!row || (row->row == m_hovered->row && row->section == m_hovered->section));
    if (!same) {
        m_hovered = row;
        update();
    }
}

void RankGutter::setSelectedRank(std::optional<uint32_t> rank)
{
    if (rank != m_selectedRank) {
        m_selectedRank = rank;
        update();
    }
}

QString RankGutter::labelOf(const MapSource& source, uint64_t row)
{
    if (source.unit().kind == UnitKind::Whole) {
        return tr("whole");
    }
    if (source.projection() == MapQuery::Projection::Unrolled) {
        return source.ranks() == 1 ? tr("1 rank") : tr("%1 ranks").arg(MapText::count(source.ranks()));
    }
    return QStringLiteral("dp %1").arg(source.unit().dpRankOf(static_cast<uint32_t>(row)));
}

QSize RankGutter::sizeHint() const
{
    int widest = fontMetrics().horizontalAdvance(QStringLiteral("dp 000"));
    for (uint32_t section = 0; m_stack && section < m_stack->count(); ++section) {
        const MapSource& source = m_stack->source(section);
        const uint32_t rows = source.rows();
        widest = std::max(widest, fontMetrics().horizontalAdvance(labelOf(source, rows == 0 ? 0 : rows - 1)));
    }
    return {widest + 30, 60};
}

void RankGutter::paintHealth(
    QPainter& painter, const MapSource& source, const MapRange& rows, double top, double height) const
{
    const auto begin = static_cast<uint32_t>(rows.begin);
    const auto end = static_cast<uint32_t>(rows.end);
    const int8_t worst = source.worstSeverity(begin, end, 0, source.columns());
    const bool missing = source.anyMissing(begin, end);
    // Dots on many thin rows would not distinguish ranks.
    const bool crowded = height < kLowestRowWithDot && worst <= m_commonSeverity;
    if (!missing && (worst < 1 || crowded)) {
        return;
    }
    const QRgb colour = worst >= 2 ? m_palette->error
        : worst == 1               ? m_palette->warning
                                   : m_palette->mutedText;
    const double size = std::clamp(height - 1, 1.0, 8.0);
    const QRectF dot(width() - 9 - size / 2, top + (height - size) / 2, size, size);
    painter.setRenderHint(QPainter::Antialiasing, size > 3);
    painter.setPen(QPen(QColor(colour), 1.5));
    painter.setBrush(missing ? Qt::NoBrush : QBrush(QColor(colour)));
    if (size <= 3) {
        painter.fillRect(dot, QColor(colour));
    } else if (worst >= 2 && !missing) {
        // Not by colour alone: errors are triangles, warnings dots, missing files hollow.
        painter.drawPolygon(
            QPolygonF({QPointF(dot.center().x(), dot.top()), dot.bottomRight(), dot.bottomLeft()}));
    } else {
        painter.drawEllipse(dot);
    }
    painter.setRenderHint(QPainter::Antialiasing, false);
}

void RankGutter::paintEvent(QPaintEvent* /*event*/)
{
    QPainter painter(this);
    painter.fillRect(rect(), QColor(m_palette->background));
    if (!m_stack || m_viewport->isEmpty()) {
        return;
    }
    const MapRange sections = m_viewport->visibleSections();
    for (uint64_t section = sections.begin; section < sections.end; ++section) {
        const MapSource& source = m_stack->source(static_cast<uint32_t>(section));
        paintLabels(painter, source);
        paintDots(painter, source);
    }
    const double ratio = devicePixelRatioF();
    painter.scale(1 / ratio, 1 / ratio);
    m_headers.paintSigns(painter, static_cast<int>(std::ceil(width() * ratio)));
}

void RankGutter::paintLabels(QPainter& painter, const MapSource& source) const
{
    const double ratio = devicePixelRatioF();
    const auto& scale = m_viewport->layout().rowScale();
    const auto visible = m_viewport->visible(source.number()).rows;
    const auto bodyTop = static_cast<double>(m_viewport->layout().bodyTop(source.number()) - m_viewport->y());
    const double rowHeight = std::max(1.0 / (scale.rowsPerPixel() * ratio), 1e-9);
    const double line = fontMetrics().height();
    const auto selected = m_selectedRank && source.projection() == MapQuery::Projection::Partitions
        ? rowOfRank(source.checkpoint(), source.unit(), *m_selectedRank)
        : std::nullopt;
    const double body = rowHeight - rowGap(scale.rowHeight()) / ratio;
    const auto topOf
        = [&](uint64_t row) { return (bodyTop + static_cast<double>(scale.topEdge(row))) / ratio; };
    if (selected && visible.contains(*selected)) {
        QColor lit(m_palette->selection);
        lit.setAlpha(70);
        painter.fillRect(QRectF(0, topOf(*selected), width() - 2, std::max(body, 3.0)), lit);
    }
    // Labels every 1, 2, 4, … rows, counted from rank 0.
    const uint64_t step = rankLabelStep(rowHeight, line);
    for (uint64_t row = visible.begin / step * step; row < visible.end; row += step) {
        const bool lit = (m_hovered && m_hovered->section == source.number() && m_hovered->row == row)
            || (selected && *selected == row);
        painter.setPen(QColor(lit ? m_palette->text : m_palette->mutedText));
        const QRectF box(8, topOf(row), width() - 26, std::max(body, line - 2));
        painter.drawText(box, static_cast<int>(Qt::AlignLeft | Qt::AlignVCenter), labelOf(source, row));
    }
}

void RankGutter::paintDots(QPainter& painter, const MapSource& source) const
{
    const double ratio = devicePixelRatioF();
    const MapLayout& layout = m_viewport->layout();
    const MapGeometry& geometry = layout.section(source.number());
    const int64_t bodyTop = layout.bodyTop(source.number());
    const int64_t end = std::min(
        m_viewport->y() + m_viewport->size().height() - bodyTop, layout.bodyHeight(source.number()));
    for (int64_t y = std::max<int64_t>(m_viewport->y() - bodyTop, 0); y < end;) {
        const auto rows = geometry.rowsAt(y);
        const int64_t bottom = std::max(geometry.rowScale().topEdge(rows.end), y + 1);
        const int64_t top = geometry.rowScale().pixelOf(rows.begin);
        paintHealth(painter, source, rows, static_cast<double>(bodyTop + top - m_viewport->y()) / ratio,
            static_cast<double>(bottom - top - rowGap(geometry.rowScale().rowHeight())) / ratio);
        y = bottom;
    }
}

std::optional<MapSource::Point> RankGutter::rowAt(const QPointF& position) const
{
    const int y = static_cast<int>(position.y() * devicePixelRatioF());
    return m_stack ? m_viewport->pointUnder({0, y}) : std::nullopt;
}

QString RankGutter::tooltipFor(MapSource::Point row) const
{
    const MapSource& source = m_stack->sourceAt(row);
    if (source.unit().kind == UnitKind::Whole) {
        return tr("Tensors that are stored whole");
    }
    if (source.projection() == MapQuery::Projection::Unrolled) {
        return tr("The whole flat buffer, rank after rank");
    }
    const auto& checkpoint = source.checkpoint();
    const FlatUnit& unit = source.unit();
    const Checkpoint& part = checkpoint.partOf(unit);
    const auto& files = unit.kind == UnitKind::Frozen ? part.modelFiles : part.optimFiles;
    const uint32_t holder = unit.dpRankOf(row.row);
    const FileId id = holder < files.size() ? files[holder] : kNoFile;
    QString name = tr("no file");
    QString status;
    if (id != kNoFile) {
        name = QString::fromStdString(toValidUtf8(checkpoint.file(id).name));
        status = QString::fromUtf8(fileStatusName(checkpoint.file(id).status).data());
    }
    const auto padding = source.amounts(row.row, 0, source.columns()).padding;
    return tr("<b>%1</b><br>%2 %3<br>padding: %4 elements")
        .arg(rankLabel(checkpoint, checkpoint.rankOf(unit, row.row)))
        .arg(name.toHtmlEscaped(), status.isEmpty() ? QString() : QStringLiteral("(%1)").arg(status),
            MapText::count(padding));
}

bool RankGutter::event(QEvent* event)
{
    if (event->type() == QEvent::ToolTip) {
        const auto* help = static_cast<QHelpEvent*>(event);
        if (const auto row = rowAt(help->pos())) {
            QToolTip::showText(help->globalPos(), tooltipFor(*row), this);
        } else {
            QToolTip::hideText();
        }
        return true;
    }
    return QWidget::event(event);
}

void RankGutter::mouseReleaseEvent(QMouseEvent* event)
{
    if (event->button() != Qt::LeftButton) {
        return;
    }
    const int y = static_cast<int>(event->position().y() * devicePixelRatioF());
    if (const auto section = m_viewport->headerUnder(y)) {
        Q_EMIT headerClicked(*section);
    } else if (const auto row = rowAt(event->position())) {
        Q_EMIT rowClicked(*row);
    }
}

} // namespace shardscope::ui
