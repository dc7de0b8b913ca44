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

RankGutter::RankGutter(MapViewport* viewport, QWidget* parent)
    : QWidget(parent)
    , m_viewport(viewport)
    , m_palette(std::make_shared<MapPalette>())
{
    setObjectName(QStringLiteral("rankGutter"));
    setAccessibleName(tr("Ranks"));
    setSizePolicy(QSizePolicy::Fixed, QSizePolicy::Expanding);
    connect(viewport, &MapViewport::changed, this, qOverload<>(&QWidget::update));
}

void RankGutter::setSource(MapSourcePtr source)
{
    m_source = std::move(source);
    m_hovered.reset();
    m_commonSeverity = -1;
    if (m_source) {
        const auto& query = m_source->query();
        m_commonSeverity = query.worstSeverity(0, query.rows(), 0, query.columns());
        for (uint32_t row = 0; row < query.rows() && m_commonSeverity > 0; ++row) {
            m_commonSeverity
                = std::min(m_commonSeverity, query.worstSeverity(row, row + 1, 0, query.columns()));
        }
    }
    updateGeometry();
    update();
}

void RankGutter::setMapPalette(std::shared_ptr<const MapPalette> palette)
{
    m_palette = std::move(palette);
    update();
}

void RankGutter::setHovered(std::optional<uint32_t> row)
{
    if (row != m_hovered) {
        m_hovered = row;
        update();
    }
}

QString RankGutter::labelOf(uint64_t row) const
{
    if (m_source->projection() == MapQuery::Projection::Unrolled) {
        return m_source->ranks() == 1 ? tr("1 rank") : tr("%1 ranks").arg(MapText::count(m_source->ranks()));
    }
    return QStringLiteral("dp %1").arg(m_source->query().flat().dpRankOf(static_cast<uint32_t>(row)));
}

QSize RankGutter::sizeHint() const
{
    QString widest = QStringLiteral("dp 000");
    if (m_source) {
        const QString last = labelOf(m_source->query().rows() == 0 ? 0 : m_source->query().rows() - 1);
        widest = last.size() > widest.size() ? last : widest;
    }
    return {fontMetrics().horizontalAdvance(widest) + 30, 60};
}

void RankGutter::paintHealth(QPainter& painter, const MapRange& rows, double top, double height) const
{
    const auto& query = m_source->query();
    const auto begin = static_cast<uint32_t>(rows.begin);
    const auto end = static_cast<uint32_t>(rows.end);
    const int8_t worst = query.worstSeverity(begin, end, 0, query.columns());
    const bool missing = query.anyMissing(begin, end);
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
    if (!m_source || m_viewport->visible().isEmpty()) {
        return;
    }
    const double ratio = devicePixelRatioF();
    const auto& geometry = m_viewport->geometry();
    const auto visible = m_viewport->visible().rows;
    const double rowHeight = std::max(1.0 / (geometry.rowScale().rowsPerPixel() * ratio), 1e-9);
    const double line = fontMetrics().height();
    // Labels every 1, 2, 4, … rows, counted from rank 0.
    const uint64_t step = rankLabelStep(rowHeight, line);
    for (uint64_t row = visible.begin / step * step; row < visible.end; row += step) {
        const double top = static_cast<double>(geometry.rowScale().topEdge(row) - m_viewport->y()) / ratio;
        const double body = rowHeight - rowGap(geometry.rowScale().rowHeight()) / ratio;
        const bool lit = m_hovered && *m_hovered == row;
        painter.setPen(QColor(lit ? m_palette->text : m_palette->mutedText));
        const QRectF box(8, top, width() - 26, std::max(body, line - 2));
        painter.drawText(box, static_cast<int>(Qt::AlignLeft | Qt::AlignVCenter), labelOf(row));
    }
    const int height = static_cast<int>(std::min<int64_t>(m_viewport->visibleRect().height, INT32_MAX));
    for (int y = 0; y < height;) {
        const auto rows = geometry.rowsAt(m_viewport->y() + y);
        const auto next = static_cast<int>(geometry.rowScale().topEdge(rows.end) - m_viewport->y());
        const double bottom = std::max(next, y + 1);
        const double top = std::max<double>(
            static_cast<double>(geometry.rowScale().pixelOf(rows.begin) - m_viewport->y()), -1e6);
        paintHealth(
            painter, rows, top / ratio, (bottom - top - rowGap(geometry.rowScale().rowHeight())) / ratio);
        y = std::max(next, y + 1);
    }
}

std::optional<uint32_t> RankGutter::rowAt(const QPointF& position) const
{
    const int y = static_cast<int>(position.y() * devicePixelRatioF());
    if (!m_source || !m_viewport->isInside({0, y})) {
        return std::nullopt;
    }
    return static_cast<uint32_t>(m_viewport->rowUnder(y));
}

QString RankGutter::tooltipFor(uint32_t row) const
{
    if (m_source->projection() == MapQuery::Projection::Unrolled) {
        return tr("The whole flat buffer, rank after rank");
    }
    const auto& checkpoint = m_source->checkpoint();
    const FlatUnit& unit = m_source->query().flat();
    const auto& files = checkpoint.partOf(unit).optimFiles;
    const uint32_t holder = unit.dpRankOf(row);
    const FileId id = holder < files.size() ? files[holder] : kNoFile;
    QString name = tr("no file");
    QString status;
    if (id != kNoFile) {
        name = QString::fromStdString(toValidUtf8(checkpoint.file(id).name));
        status = QString::fromUtf8(fileStatusName(checkpoint.file(id).status).data());
    }
    const auto padding = m_source->query().sum(row, row + 1, 0, m_source->query().columns()).padding;
    return tr("<b>%1</b><br>%2 %3<br>padding: %4 elements")
        .arg(rankLabel(checkpoint, checkpoint.rankOf(unit, row)))
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
    if (const auto row = rowAt(event->position()); row && event->button() == Qt::LeftButton) {
        Q_EMIT rowClicked(*row);
    }
}

} // namespace shardscope::ui
