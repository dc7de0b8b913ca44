// SPDX-License-Identifier: Apache-2.0
#include "ui/layoutmap/rank_gutter.h"

#include "core/base/text.h"
#include "core/layout/whole_units.h"
#include "ui/layoutmap/geometry/map_text.h"
#include "ui/layoutmap/tiles/map_tile_renderer.h"
#include "ui/text/rank_list.h"
#include "ui/text/text.h"
#include "ui/widgets/elided_text.h"

#include <QMouseEvent>
#include <QPainter>

#include <algorithm>
#include <cmath>

namespace shardscope::ui {

namespace {

constexpr double kLowestRowWithDot = 9.0;
constexpr int kWidestName = 310;

} // namespace

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
    : MapSideColumn(viewport, parent)
{
    setObjectName(QStringLiteral("rankGutter"));
    setAccessibleName(tr("Ranks"));
}

void RankGutter::stackChanged()
{
    m_hovered.reset();
    setAccessibleName(m_stack && m_stack->files() ? tr("Files") : tr("Ranks"));
    m_commonSeverity = m_stack ? commonSeverity(*m_stack) : int8_t{-1};
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

QSize RankGutter::sizeHint() const
{
    int widest = fontMetrics().horizontalAdvance(QStringLiteral("dp 000"));
    for (uint32_t section = 0; m_stack && section < m_stack->count(); ++section) {
        const MapSource& source = m_stack->source(section);
        const QString last = MapText::rowName(source, std::max(source.rows(), 1U) - 1);
        widest = std::max(widest, fontMetrics().horizontalAdvance(last));
        if (m_stack->count() > 1) { // the layer strip and the ruler name it in this column
            const int name = fontMetrics().horizontalAdvance(MapText::shortSectionName(source));
            widest = std::max(widest, name - 14);
        }
    }
    if (m_stack && m_stack->files()) {
        const int name = fontMetrics().horizontalAdvance(toText(m_stack->files()->longestName()));
        widest = std::min({name, kWidestName, parentWidget()->width() / 3});
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
    painter.setLayoutDirection(Qt::LeftToRight); // without it, the program's
    painter.fillRect(rect(), QColor(m_palette->background));
    forEachSection([&](const MapSource& source) {
        paintLabels(painter, source);
        paintDots(painter, source);
    });
    const double ratio = devicePixelRatioF();
    painter.scale(1 / ratio, 1 / ratio);
    headers().paintSigns(painter, static_cast<int>(std::ceil(width() * ratio)));
}

void RankGutter::paintLabels(QPainter& painter, const MapSource& source) const
{
    const auto selected = selectedRow(source);
    if (selected && m_viewport->visible(source.number()).rows.contains(*selected)) {
        QColor lit(m_palette->selection);
        lit.setAlpha(70);
        painter.fillRect(QRectF(0, topOf(source, *selected), width() - 2, std::max(bodyHeight(), 3.0)), lit);
    }
    forEachLabelledRow(source, [&](uint32_t row, double top, double height) {
        const bool lit = (m_hovered && m_hovered->section == source.number() && m_hovered->row == row)
            || (selected && *selected == row);
        painter.setPen(QColor(lit ? m_palette->text : m_palette->mutedText));
        painter.drawText(QRectF(8, top, width() - 26, height),
            static_cast<int>(Qt::AlignLeft | Qt::AlignVCenter),
            elidedText(MapText::rowName(source, row), fontMetrics(), width() - 26));
    });
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

QString RankGutter::tooltipFor(MapSource::Point row) const
{
    const MapSource& source = m_stack->sourceAt(row);
    if (source.files()) {
        return MapText::fileTooltip(source, row.row);
    }
    if (isStoredWhole(source.unit())) {
        return tr("Tensors that are stored whole");
    }
    if (source.unit().kind == UnitKind::Whole) {
        return tr("<b>%1</b><br>Its rows of the tensors")
            .arg(rankLabel(source.checkpoint(), source.checkpoint().rankOf(source.unit(), row.row)));
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
