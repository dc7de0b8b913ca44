// SPDX-License-Identifier: Apache-2.0
#include "ui/dialogs/reshard_maps.h"

#include "ui/layoutmap/layout_map_view.h"
#include "ui/models/difference_marks.h"
#include "ui/text/rank_list.h"
#include "ui/text/text.h"
#include "ui/widgets/elided_label.h"

#include <QLabel>
#include <QPainter>
#include <QVBoxLayout>

#include <algorithm>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

namespace {

/// A map with many more ranks than the other does not push it aside: at most this many times its height.
constexpr int kMostStretch = 3;
constexpr int kMaxNamedRanks = 8;

/// The place that a map is asked about: the one under the pointer, else the focused one.
std::optional<MapSource::Point> placeOf(const LayoutMapView& map)
{
    const MapMarks& marks = map.canvas()->marks();
    const auto place = marks.hovered ? marks.hovered : marks.pinned;
    const MapStackPtr& stack = map.canvas()->stack();
    return place && stack && place->section < stack->count() ? place : std::nullopt;
}

/// A block of a map in the coordinates of `target`, which contains it, cut to what is on screen; empty
/// outside.
QRectF rectIn(const QWidget& target, const LayoutMapView& map, const MapBlock& block)
{
    const MapViewport& view = *map.viewport();
    const ContentRect content = view.layout().rectOf(block);
    const double ratio = view.pixelRatio();
    const QRectF rect(static_cast<double>(content.x - view.x()) / ratio,
        static_cast<double>(content.y - view.y()) / ratio, static_cast<double>(content.width) / ratio,
        static_cast<double>(content.height) / ratio);
    const QRectF seen = rect.intersected(QRectF(map.canvas()->rect()));
    return seen.translated(map.canvas()->mapTo(&target, QPointF(0, 0)));
}

QString rangeText(const RankLoad& load)
{
    const QString least = bytesText(load.leastBytes);
    const QString most = bytesText(load.mostBytes);
    return least == most ? most : ReshardMaps::tr("%1 to %2").arg(least, most);
}

QString loadText(const RankLoad& load)
{
    const QString text = ReshardMaps::tr("%1 a GPU").arg(rangeText(load)) % u" · "_s;
    if (load.padding == 0)
        return text % ReshardMaps::tr("no padding");
    if (load.padding == 1)
        return text % ReshardMaps::tr("padding 1 element");
    const double share
        = static_cast<double>(load.padding) / static_cast<double>(load.elements + load.padding);
    const QString padding
        = text % ReshardMaps::tr("padding %1 elements (%2)").arg(countText(load.padding), percentText(share));
    return load.mostPadding == load.padding
        ? padding
        : QString(
            padding % u", "_s % ReshardMaps::tr("at most %1 on a GPU").arg(countText(load.mostPadding)));
}

} // namespace

/// Paints the bands over both maps. It takes no input.
class ReshardBands : public QWidget
{
public:
    explicit ReshardBands(ReshardMaps* maps)
        : QWidget(maps)
        , m_maps(maps)
    {
        setObjectName(u"reshardBands"_s);
        setAttribute(Qt::WA_TransparentForMouseEvents);
        setAttribute(Qt::WA_NoSystemBackground);
    }

protected:
    void paintEvent(QPaintEvent* /*event*/) override
    {
        const auto& flow = m_maps->flow();
        if (!flow || m_maps->m_from == nullptr)
            return;
        const LayoutMapView& from = *m_maps->m_from;
        const LayoutMapView& to = *m_maps->otherThan(&from);
        const bool isDown = &from == m_maps->m_before;
        QPainter painter(this);
        painter.setRenderHint(QPainter::Antialiasing);
        const QColor line(from.canvas()->mapPalette().selection);
        QColor fill = line;
        fill.setAlpha(56);
        for (const MapFlow::Part& part : flow->parts) {
            const QRectF source = rectIn(*m_maps, from, part.from);
            const QRectF target = rectIn(*m_maps, to, part.to);
            if (source.isEmpty() || target.isEmpty())
                continue;
            const double begin = isDown ? source.bottom() : source.top();
            const double end = isDown ? target.top() : target.bottom();
            painter.setPen(Qt::NoPen);
            painter.setBrush(fill);
            painter.drawPolygon(QPolygonF({{source.left(), begin}, {source.right(), begin},
                {target.right(), end}, {target.left(), end}}));
            painter.setPen(QPen(line, 1));
            painter.drawLine(QPointF(source.left(), begin), QPointF(target.left(), end));
            painter.drawLine(QPointF(source.right(), begin), QPointF(target.right(), end));
            painter.setPen(QPen(line, 2));
            painter.setBrush(Qt::NoBrush);
            painter.drawRect(target.adjusted(1, 1, -1, -1));
        }
    }

private:
    ReshardMaps* m_maps;
};

ReshardMaps::ReshardMaps(const Theme& theme, QWidget* parent)
    : QWidget(parent)
    , m_before(new LayoutMapView(&theme, this))
    , m_after(new LayoutMapView(&theme, this))
    , m_beforeTitle(new QLabel(this))
    , m_afterTitle(new QLabel(this))
    , m_words(new ElidedLabel(this))
    , m_bands(nullptr)
{
    setObjectName(u"reshardMaps"_s);
    m_before->setObjectName(u"reshardMapBefore"_s);
    m_after->setObjectName(u"reshardMapAfter"_s);
    m_beforeTitle->setObjectName(u"reshardTitleBefore"_s);
    m_afterTitle->setObjectName(u"reshardTitleAfter"_s);
    m_words->setObjectName(u"reshardFlow"_s);
    m_rows = new QVBoxLayout(this);
    m_rows->setContentsMargins(0, 0, 0, 0);
    m_rows->setSpacing(4);
    m_rows->addWidget(m_beforeTitle);
    m_rows->addWidget(m_before);
    m_rows->addSpacing(6);
    m_rows->addWidget(m_afterTitle);
    m_rows->addWidget(m_after);
    m_rows->addWidget(m_words);
    for (LayoutMapView* map : {m_before, m_after}) {
        map->setCompact(true, true);
        map->setMinimumSize(190, 110);
        m_rows->setStretchFactor(map, 1);
        connect(map, &LayoutMapView::placeChanged, this, [this, map] { onPlace(map); });
    }
    m_before->canvas()->setAccessibleName(tr("Map of the layout now"));
    m_after->canvas()->setAccessibleName(tr("Map of the new layout"));
    m_bands = new ReshardBands(this);
    updateFlow();
}

void ReshardMaps::resizeEvent(QResizeEvent* event)
{
    QWidget::resizeEvent(event);
    m_bands->setGeometry(rect());
    m_bands->raise();
}

void ReshardMaps::setBefore(const Side& side)
{
    setSide(m_before, m_beforeTitle, side);
}

void ReshardMaps::setAfter(const Side& side)
{
    setSide(m_after, m_afterTitle, side);
}

void ReshardMaps::setSide(LayoutMapView* map, QLabel* title, const Side& side)
{
    // Nothing is distributed over GPUs in universal folders and distributed checkpoints.
    const bool hasRanks = side.checkpoint && !isConverted(side.checkpoint->kind);
    title->setText(hasRanks ? side.title % u" · "_s % loadText(side.load) : side.title);
    map->setCheckpoint(side.checkpoint, side.looks);
    m_after->setColourMode(m_before->colourMode()); // which may have changed with its checkpoint
    useOneScale();
    updateFlow();
}

void ReshardMaps::useOneScale()
{
    const MapStackPtr& before = m_before->canvas()->stack();
    const MapStackPtr& after = m_after->canvas()->stack();
    if (!before || !after)
        return;
    // Sections belong together if they have the same first parameter.
    const auto widthsOf = [](const MapStack& stack, const MapStack& other) {
        std::vector<uint64_t> widths;
        for (uint32_t i = 0; i < stack.count(); ++i) {
            const std::vector<ParamId>& params = stack.source(i).unit().params;
            const ParamId there = params.empty()
                ? kNoParam
                : sameParameter(stack.checkpoint(), params.front(), other.checkpoint());
            const auto section = there == kNoParam ? std::nullopt : other.sectionOf(there);
            const uint64_t own = stack.source(i).columns();
            widths.push_back(section ? std::max(own, other.source(*section).columns()) : own);
        }
        return widths;
    };
    // What a map needs, in rows: a header needs as much as two of them, and so does the ruler.
    const auto heightOf = [](const MapStack& stack) {
        uint64_t rows = 2;
        for (const MapLayout::Size& size : stack.sizes())
            rows += size.rows + 2;
        return static_cast<int>(std::clamp<uint64_t>(rows, 1, INT16_MAX));
    };
    m_before->setFullWidths(widthsOf(*before, *after));
    m_after->setFullWidths(widthsOf(*after, *before));
    const int now = heightOf(*before);
    const int then = heightOf(*after);
    m_rows->setStretchFactor(m_before, std::max(now, then / kMostStretch));
    m_rows->setStretchFactor(m_after, std::max(then, now / kMostStretch));
}

LayoutMapView* ReshardMaps::otherThan(const LayoutMapView* map) const
{
    return map == m_before ? m_after : m_before;
}

void ReshardMaps::onPlace(LayoutMapView* map)
{
    const auto place = placeOf(*map);
    // A map that the pointer has left leaves the bands to one that has a focused cell.
    LayoutMapView* other = otherThan(map);
    const bool isOther = !map->canvas()->marks().hovered
        && (other->canvas()->marks().hovered || (!place && placeOf(*other)));
    m_from = isOther ? other : map;
    updateFlow();
}

void ReshardMaps::updateFlow()
{
    const auto place = m_from != nullptr ? placeOf(*m_from) : std::nullopt;
    m_flow.reset();
    if (place && otherThan(m_from)->canvas()->stack())
        m_flow = flowOf(*m_from->canvas()->stack(), *place, *otherThan(m_from)->canvas()->stack());
    m_words->setText(
        m_flow ? describeFlow(*m_from) : tr("Point at a fragment to see where its elements go."));
    m_bands->update();
}

QString ReshardMaps::describeFlow(const LayoutMapView& map) const
{
    const MapStack& from = *map.canvas()->stack();
    const MapStack& to = *otherThan(&map)->canvas()->stack();
    const MapSource& source = from.source(m_flow->from.section);
    const auto rankText = [](const MapStack& stack, const MapBlock& block) {
        const MapSource& section = stack.source(block.section);
        const auto row = static_cast<uint32_t>(block.rows.begin);
        const uint32_t rank = section.placeOf(row, block.elements.begin).rank;
        return rankLabel(section.checkpoint(), section.checkpoint().rankOf(section.unit(), rank));
    };
    const QString what = tr("%1, %2 elements on %3")
                             .arg(source.nameOf(m_flow->param), countText(m_flow->from.elements.size()),
                                 rankText(from, m_flow->from));
    if (m_flow->parts.empty())
        return tr("%1: not on the other map").arg(what);
    QStringList ranks;
    for (const MapFlow::Part& part : m_flow->parts) {
        const QString rank = rankText(to, part.to);
        ranks.append(m_flow->isExact
                ? tr("%1: %2", "rank: elements").arg(rank, countText(part.to.elements.size()))
                : rank);
        if (ranks.size() == kMaxNamedRanks && m_flow->parts.size() > kMaxNamedRanks) {
            ranks.append(tr("and %1 more").arg(m_flow->parts.size() - kMaxNamedRanks));
            break;
        }
    }
    const QString direction = &map == m_before ? tr("%1 → %2") : tr("%1 ← %2");
    return direction.arg(what, ranks.join(u", "_s));
}

QString ReshardMaps::flowText() const
{
    return m_words->text();
}

} // namespace shardscope::ui
