// SPDX-License-Identifier: Apache-2.0
#include "ui/dialogs/reshard_maps.h"

#include "core/layout/whole_units.h"
#include "ui/dialogs/rank_choices.h"
#include "ui/dialogs/reshard_bands.h"
#include "ui/layoutmap/layout_map_view.h"
#include "ui/models/difference_marks.h"
#include "ui/text/rank_list.h"
#include "ui/text/text.h"
#include "ui/widgets/elided_label.h"

#include <QComboBox>
#include <QLabel>
#include <QSplitter>
#include <QTimer>
#include <QVBoxLayout>

#include <algorithm>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

namespace {

/// A map with many more ranks than the other does not push it aside: at most this many times its height.
constexpr int kMostStretch = 3;
constexpr int kMaxNamedRanks = 8;
constexpr int kLeastRow = 8; ///< pixels
constexpr int kLeastMap = 96;
constexpr int kBandsHeight = 16; ///< between the maps, besides the room of a scroll bar
constexpr uint32_t kLabelledRanks = 16; ///< whose rows are so high that each has its label

QString rangeText(const RankLoad& load)
{
    const QString least = bytesText(load.leastBytes);
    const QString most = bytesText(load.mostBytes);
    return least == most ? most : ReshardMaps::tr("%1 to %2").arg(least, most);
}

QString loadText(const RankLoad& load)
{
    const QString text = ReshardMaps::tr("%1 per GPU").arg(rangeText(load)) % u" · "_s;
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

/// The name of a rank in the list of ranks and in sentences.
QString rankText(const Checkpoint& checkpoint, uint32_t rank)
{
    return rankLabel(checkpoint, rankAt(checkpoint, rank));
}

} // namespace

ReshardMaps::ReshardMaps(const Theme& theme, QWidget* parent)
    : QWidget(parent)
    , m_before(new LayoutMapView(&theme, this))
    , m_after(new LayoutMapView(&theme, this))
    , m_beforeTitle(new QLabel(this))
    , m_afterTitle(new QLabel(this))
    , m_says(new QLabel(this))
    , m_choices(new RankChoices(this))
    , m_what(new QComboBox(this))
    , m_words(new ElidedLabel(this))
    , m_wordsRow(new QHBoxLayout)
    , m_bands(nullptr)
    , m_split(new QSplitter(Qt::Vertical, this))
{
    setObjectName(u"reshardMaps"_s);
    m_before->setObjectName(u"reshardMapBefore"_s);
    m_after->setObjectName(u"reshardMapAfter"_s);
    m_beforeTitle->setObjectName(u"reshardTitleBefore"_s);
    m_afterTitle->setObjectName(u"reshardTitleAfter"_s);
    m_split->setObjectName(u"reshardSplit"_s);
    m_split->setChildrenCollapsible(false);
    m_split->setHandleWidth(kBandsHeight);
    m_split->addWidget(makePane(m_before, m_beforeTitle));
    m_split->addWidget(makePane(m_after, m_afterTitle));
    connect(m_split, &QSplitter::splitterMoved, this, [this] { m_isSplitByUser = true; });
    auto* rows = new QVBoxLayout(this);
    rows->setContentsMargins(0, 0, 0, 0);
    rows->setSpacing(4);
    rows->addWidget(m_split, 1);
    makeWordsRow();
    rows->addLayout(m_wordsRow);
    for (LayoutMapView* map : {m_before, m_after}) {
        map->setCompact(true, true);
        map->setMinimumSize(190, kLeastMap);
        connect(map, &LayoutMapView::placeChanged, this, [this, map] { onPlace(map); });
        connect(map, &LayoutMapView::rowClicked, this,
            [this, map](MapSource::Point row) { followRow(map, row.section, row.row); });
    }
    m_before->canvas()->setAccessibleName(tr("Map of the layout now"));
    m_after->canvas()->setAccessibleName(tr("Map of the new layout"));
    m_bands = new ReshardBands(this);
    computeFlow();
}

ReshardMaps::~ReshardMaps() = default;

QWidget* ReshardMaps::makePane(LayoutMapView* map, QLabel* title)
{
    auto* pane = new QWidget(m_split);
    auto* rows = new QVBoxLayout(pane);
    rows->setContentsMargins(0, 0, 0, 0);
    rows->setSpacing(4);
    title->setWordWrap(true);
    rows->addWidget(title);
    rows->addWidget(map, 1);
    return pane;
}

void ReshardMaps::makeWordsRow()
{
    m_words->setObjectName(u"reshardFlow"_s);
    m_words->setIsSentence(true);
    m_what->setObjectName(u"reshardFollowed"_s);
    m_what->setAccessibleName(tr("Whose elements the bands follow"));
    m_what->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
    m_what->setMinimumContentsLength(14);
    m_what->setModel(m_choices);
    connect(m_what, &QComboBox::activated, this, &ReshardMaps::onChosen);
    m_says->setText(tr("F&ollow"));
    m_says->setBuddy(m_what);
    m_wordsRow->addWidget(m_says);
    m_wordsRow->addWidget(m_what);
    m_wordsRow->addWidget(m_words, 1);
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
    if (map == m_after) { // without a plan, the other one has the room
        m_after->setHidden(!side.checkpoint);
        m_before->setMinimumHeight(side.checkpoint ? kLeastMap : 2 * kLeastMap);
    }
    m_after->setColourMode(m_before->colourMode()); // which may have changed with its checkpoint
    takeNewMaps();
    showWordsRow();
}

/// Without a plan there is nothing to follow.
void ReshardMaps::showWordsRow()
{
    const bool isListed = m_choices->rowCount() > 0 && !m_after->isHidden();
    m_says->setVisible(isListed);
    m_what->setVisible(isListed);
    if (m_after->isHidden())
        m_words->setText({});
}

bool ReshardMaps::hasNewMaps() const
{
    return m_before->canvas()->stack() != m_shownBefore || m_after->canvas()->stack() != m_shownAfter;
}

void ReshardMaps::takeNewMaps()
{
    if (!hasNewMaps())
        return;
    m_shownBefore = m_before->canvas()->stack();
    m_shownAfter = m_after->canvas()->stack();
    if (m_followed.map == m_after) // ids of the former plan
        m_followed = {m_before, kNoParam, 0};
    useOneScale();
    fillRanks();
    computeFlow();
    updateFlow(m_before); // the pointer is over a map already
}

void ReshardMaps::useOneScale()
{
    const MapStackPtr& before = m_before->canvas()->stack();
    const MapStackPtr& after = m_after->canvas()->stack();
    // Every rank has a label if there are few of them; else its padding must still be seen.
    const auto leastRow = [this](const MapStack& stack) {
        uint32_t rows = 0;
        for (const MapLayout::Size& size : stack.sizes())
            rows = std::max(rows, size.rows);
        return rows <= kLabelledRanks ? std::max(fontMetrics().height(), kLeastRow) : kLeastRow;
    };
    if (before)
        m_before->setLeastRowHeight(leastRow(*before));
    if (after)
        m_after->setLeastRowHeight(leastRow(*after));
    if (before && !after && !m_isSplitByUser)
        m_split->setSizes({std::max(m_split->height(), 2), 1}); // there is nothing to compare with
    if (!before || !after)
        return;
    // What a map needs, in rows: a header needs as much as two of them, and so does the ruler.
    const auto heightOf = [](const MapStack& stack) {
        uint64_t rows = 2;
        for (const MapLayout::Size& size : stack.sizes())
            rows += size.rows + 2;
        return static_cast<int>(std::clamp<uint64_t>(rows, 1, INT16_MAX));
    };
    LayoutMapView::useOneScale(*m_before, *m_after);
    if (m_isSplitByUser)
        return;
    const int now = heightOf(*before);
    const int then = heightOf(*after);
    const int total = std::max(m_split->height(), 2);
    const int upper = std::max(now, then / kMostStretch);
    const int lower = std::max(then, now / kMostStretch);
    m_split->setSizes({static_cast<int>(int64_t{total} * upper / (upper + lower)),
        static_cast<int>(int64_t{total} * lower / (upper + lower))});
}

LayoutMapView* ReshardMaps::otherThan(const LayoutMapView* map) const
{
    return map == m_before ? m_after : m_before;
}

void ReshardMaps::onPlace(LayoutMapView* map)
{
    const bool isNew = hasNewMaps();
    if (isNew) // the map is still taking it up
        QTimer::singleShot(0, this, &ReshardMaps::takeNewMaps);
    const MapMarks& marks = map->canvas()->marks();
    if (!isNew && !marks.hovered && marks.pinned && map->canvas()->stack()) {
        const MapCell cell = map->canvas()->stack()->cellAt(*marks.pinned);
        if (cell.kind == CellKind::Param && (m_followed.map != map || m_followed.param != cell.param))
            return setFollowed({map, cell.param, std::nullopt});
    }
    updateFlow(map);
}

void ReshardMaps::followRow(LayoutMapView* map, uint32_t section, uint32_t row)
{
    const MapSource& source = map->canvas()->stack()->source(section);
    if (!isStoredWhole(source.unit()))
        setFollowed({map, kNoParam, rankOfRow(source.checkpoint(), source.unit(), row)});
}

void ReshardMaps::follow(ParamId param, std::optional<uint32_t> rank)
{
    setFollowed({m_before, param, param == kNoParam ? std::optional(rank.value_or(0)) : std::nullopt});
}

void ReshardMaps::setFollowed(const Followed& followed)
{
    m_followed = followed;
    showChosen();
    computeFlow();
}

void ReshardMaps::onChosen(int row)
{
    if (const auto chosen = m_choices->rankAt(row))
        setFollowed({chosen->side == RankChoices::Side::Before ? m_before : m_after, kNoParam, chosen->rank});
}

/// The ranks of both maps, so that they can be chosen with the keyboard, too.
void ReshardMaps::fillRanks()
{
    const auto checkpointOf = [](const LayoutMapView* map) {
        const MapStackPtr& stack = map->canvas()->stack();
        const bool hasRanks = stack && stack->count() > 0 && !isConverted(stack->checkpoint().kind);
        return hasRanks ? CheckpointPtr(stack, &stack->checkpoint()) : nullptr;
    };
    const CheckpointPtr before = checkpointOf(m_before);
    m_choices->setCheckpoints(before, checkpointOf(m_after));
    // Where nothing is distributed over ranks now, the first one of the result is followed.
    const bool isListed = !m_followed.rank || rowOfFollowed() >= 0;
    if (!isListed && m_choices->rowCount() > 0)
        m_followed = {before ? m_before : m_after, kNoParam, 0};
    showWordsRow();
    showChosen();
}

/// Of the rank; -1 without one.
int ReshardMaps::rowOfFollowed() const
{
    const auto side = m_followed.map == m_after ? RankChoices::Side::After : RankChoices::Side::Before;
    return m_followed.rank ? m_choices->rowOf({side, *m_followed.rank}) : -1;
}

/// Shows in the list what is followed; a parameter is its first entry as long as it is.
void ReshardMaps::showChosen()
{
    const MapStackPtr stack = m_followed.map == nullptr ? nullptr : m_followed.map->canvas()->stack();
    const bool isParameter = stack && m_followed.param != kNoParam;
    m_choices->setParameter(
        isParameter ? toText(stack->checkpoint().params[index(m_followed.param)].name) : QString());
    if (isParameter || m_followed.rank)
        m_what->setCurrentIndex(isParameter ? 0 : rowOfFollowed());
    m_what->setToolTip(m_what->currentText());
}

void ReshardMaps::updateFlow(LayoutMapView* first)
{
    for (LayoutMapView* map : {first, otherThan(first)}) {
        const MapMarks& marks = map->canvas()->marks();
        const MapStackPtr& stack = map->canvas()->stack();
        const MapStackPtr& there = otherThan(map)->canvas()->stack();
        if (!marks.hovered || !stack || !there || marks.hovered->section >= stack->count())
            continue;
        if (const auto flow = flowOf(*stack, *marks.hovered, *there)) {
            m_flower.cancel();
            return showFlow(flow, map, false);
        }
    }
    const std::optional<MapFlow>& shown = m_bands->flow();
    if (shown && shown->of == MapFlow::Of::Fragment)
        return computeFlow();
    m_bands->update(); // a map was scrolled
}

void ReshardMaps::computeFlow()
{
    LayoutMapView* from = m_followed.map;
    const MapStackPtr stack = from == nullptr ? nullptr : from->canvas()->stack();
    const MapStackPtr there = from == nullptr ? nullptr : otherThan(from)->canvas()->stack();
    if (!stack || !there) {
        m_flower.cancel();
        return showFlow({}, nullptr, true);
    }
    m_flower.run<std::optional<MapFlow>>(
        [stack, there, followed = m_followed](
            const std::stop_token& token, const std::function<void(std::optional<MapFlow>)>& deliver) {
            deliver(followed.rank ? flowOfRank(*stack, *followed.rank, *there, token)
                                  : flowOfParameter(*stack, followed.param, *there));
        },
        [this, from, stack, there](const std::optional<MapFlow>& flow) {
            if (from->canvas()->stack() == stack && otherThan(from)->canvas()->stack() == there)
                showFlow(flow, from, true); // else a map is about to show another stack
        });
}

void ReshardMaps::showFlow(const std::optional<MapFlow>& flow, LayoutMapView* from, bool isFaint)
{
    m_bands->setFlow(flow, from, from == nullptr ? nullptr : otherThan(from), isFaint);
    m_words->setText(flow ? describe(*flow, *from)
            : m_after->isHidden()
            ? QString()
            : tr("Point at a fragment to see where its elements go; click it, or a rank, to keep "
                 "that in sight."));
}

QString ReshardMaps::describe(const MapFlow& flow, const LayoutMapView& map) const
{
    const MapStack& from = *map.canvas()->stack();
    const MapStack& to = *otherThan(&map)->canvas()->stack();
    const auto holder = [](const MapStack& stack, const MapBlock& block) {
        const MapSource& section = stack.source(block.section);
        const auto row = static_cast<uint32_t>(block.rows.begin);
        if (isStoredWhole(section.unit()))
            return tr("stored whole");
        const uint32_t rank = section.placeOf(row, block.elements.begin).rank;
        return rankLabel(section.checkpoint(), section.checkpoint().rankOf(section.unit(), rank));
    };
    const QString elements = countText(flow.elements);
    const QString what = flow.of == MapFlow::Of::Rank
        ? tr("%1, %2 elements").arg(rankText(from.checkpoint(), flow.rank), elements)
        : flow.of == MapFlow::Of::Parameter
        ? tr("%1, %2 elements").arg(from.source(flow.from.section).nameOf(flow.param), elements)
        : tr("%1, %2 elements on %3")
              .arg(from.source(flow.from.section).nameOf(flow.param), elements, holder(from, flow.from));
    if (flow.parts.empty())
        return tr("%1: not on the other map").arg(what);
    std::vector<std::pair<QString, uint64_t>> ranks; // in the order of the parts
    for (const MapFlow::Part& part : flow.parts) {
        const QString rank = holder(to, part.to);
        const auto known
            = std::find_if(ranks.begin(), ranks.end(), [&](const auto& each) { return each.first == rank; });
        if (known == ranks.end())
            ranks.emplace_back(rank, part.elements);
        else
            known->second += part.elements;
    }
    QStringList named;
    for (const auto& [rank, count] : ranks) {
        named.append(flow.isExact ? tr("%1: %2", "rank: elements").arg(rank, countText(count)) : rank);
        if (named.size() == kMaxNamedRanks && ranks.size() > kMaxNamedRanks) {
            named.append(tr("and %1 more").arg(ranks.size() - kMaxNamedRanks));
            break;
        }
    }
    const QString direction = &map == m_before ? tr("%1 → %2") : tr("%1 ← %2");
    return direction.arg(what, named.join(u", "_s)) % (flow.isCut ? tr(" (and more)") : QString());
}

const std::optional<MapFlow>& ReshardMaps::flow() const
{
    return m_bands->flow();
}

QString ReshardMaps::flowText() const
{
    return m_words->text();
}

} // namespace shardscope::ui
