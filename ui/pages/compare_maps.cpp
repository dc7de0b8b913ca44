// SPDX-License-Identifier: Apache-2.0
#include "ui/pages/compare_maps.h"

#include "core/base/text.h"
#include "ui/layoutmap/layout_map_view.h"
#include "ui/layoutmap/map_legend.h"
#include "ui/session/findings/finding_store.h"
#include "ui/text/text.h"
#include "ui/widgets/elided_label.h"

#include <QComboBox>
#include <QGridLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QSignalBlocker>

#include <algorithm>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

namespace {

constexpr int kLeastMap = 90;
constexpr int kSide = 12; ///< left and right of both
constexpr int kBetween = 14;

QString sideTitle(const QString& side, const Checkpoint& checkpoint)
{
    return side.arg(
        pathText(checkpoint.runFolder.filename() / checkpoint.tag) % u" · "_s % titleText(checkpoint));
}

} // namespace

CompareMaps::CompareMaps(Theme& theme, Selection& selection, QWidget* parent)
    : QWidget(parent)
    , m_theme(theme)
    , m_selection(selection)
    , m_leftTitle(new ElidedLabel(this))
    , m_rightTitle(new ElidedLabel(this))
    , m_left(new LayoutMapView(&theme, this))
    , m_right(new LayoutMapView(&theme, this))
    , m_legend(new MapLegend(this))
    , m_state(new QComboBox(this))
{
    setObjectName(u"compareMaps"_s);
    setLayoutDirection(Qt::LeftToRight); // their titles say which one is left
    m_left->setObjectName(u"compareMapLeft"_s);
    m_right->setObjectName(u"compareMapRight"_s);
    m_legend->setObjectName(u"compareLegend"_s);
    m_legend->setFocusPolicy(Qt::NoFocus); // it has no switches
    for (LayoutMapView* map : {m_left, m_right}) {
        map->setCompact(true);
        map->setMinimumSize(120, kLeastMap);
    }
    m_left->setSelection(&selection);
    m_right->setSelection(&m_other);
    auto* grid = new QGridLayout(this);
    grid->setContentsMargins(kSide, 8, kSide, 0);
    grid->setHorizontalSpacing(kBetween);
    grid->setVerticalSpacing(4);
    grid->addWidget(m_leftTitle, 0, 0);
    grid->addWidget(m_rightTitle, 0, 1);
    grid->addWidget(m_left, 1, 0);
    grid->addWidget(m_right, 1, 1);
    auto* foot = new QHBoxLayout;
    auto* caption = new QLabel(tr("State"), this);
    caption->setBuddy(m_state);
    m_state->setObjectName(u"compareMapState"_s);
    m_state->setAccessibleName(tr("State shown on both maps"));
    m_state->setToolTip(m_state->accessibleName());
    m_state->setSizeAdjustPolicy(QComboBox::AdjustToContents);
    foot->setSpacing(8);
    foot->addWidget(m_legend, 1);
    foot->addStretch(0); // the legend may be hidden
    foot->addWidget(caption);
    foot->addWidget(m_state);
    grid->addLayout(foot, 2, 0, 1, 2);
    grid->setRowStretch(1, 1);
    grid->setColumnStretch(0, 1);
    grid->setColumnStretch(1, 1);
    for (LayoutMapView* map : {m_left, m_right})
        connect(map, &LayoutMapView::stackChanged, this, [this] {
            LayoutMapView::useOneScale(*m_left, *m_right);
            revealFirst();
            updateLegend();
        });
    connect(&selection, &Selection::changed, this, &CompareMaps::followLeft);
    connect(&m_other, &Selection::changed, this, &CompareMaps::followRight);
    connect(&m_other, &Selection::hoverTextChanged, &selection, &Selection::setHoverText);
    connect(&m_other, &Selection::sumTextChanged, &selection, &Selection::setSumText);
    connect(&theme, &Theme::changed, this, &CompareMaps::updateLegend);
    connect(m_state, &QComboBox::activated, this,
        [this](int at) { showState(m_outcome->leftMarks->states[static_cast<size_t>(at)].first); });
}

void CompareMaps::setOutcome(const CompareOutcomePtr& outcome)
{
    m_outcome = outcome;
    m_revealsFirst = false;
    m_other.clear();
    m_left->setCheckpoint(outcome ? outcome->left : nullptr, outcome ? outcome->leftLooks : nullptr);
    m_right->setCheckpoint(outcome ? outcome->right : nullptr, outcome ? outcome->rightLooks : nullptr);
    showFindings();
    m_left->setDifferences(outcome ? outcome->leftMarks : nullptr);
    m_right->setDifferences(outcome ? outcome->rightMarks : nullptr);
    if (outcome) {
        for (LayoutMapView* map : {m_left, m_right})
            map->setColourMode(MapColourMode::Difference);
        m_leftTitle->setText(sideTitle(tr("Left: %1"), *outcome->left));
        m_rightTitle->setText(sideTitle(tr("Right: %1"), *outcome->right));
        updateStates();
        if (m_selection.current().state.empty())
            showState(outcome->leftMarks->firstDifferentState());
        followLeft(m_selection.current());
        m_revealsFirst = true;
        revealFirst();
    }
    updateLegend();
}

int CompareMaps::leastHeight() const
{
    const QMargins margins = layout()->contentsMargins();
    const int states = m_state->sizeHint().height();
    return margins.top() + margins.bottom() + m_leftTitle->sizeHint().height() + kLeastMap + states
        + 2 * static_cast<QGridLayout*>(layout())->verticalSpacing();
}

void CompareMaps::resizeEvent(QResizeEvent* event)
{
    QWidget::resizeEvent(event);
    // Both columns are equally wide: else one scale does not fit both.
    static_assert(kBetween % 2 == 0);
    const int odd = width() % 2;
    QMargins margins = layout()->contentsMargins();
    margins.setRight(kSide + odd);
    layout()->setContentsMargins(margins);
    const int legend = m_legend->heightForWidth(m_legend->width()) - m_state->sizeHint().height();
    m_legend->setHidden(height() < leastHeight() + std::max(legend, 0));
}

void CompareMaps::updateStates()
{
    const QSignalBlocker blocker(m_state);
    m_state->clear();
    for (const auto& [state, marks] : m_outcome->leftMarks->states)
        m_state->addItem(toText(state));
    m_state->setCurrentText(toText(m_left->state()));
}

void CompareMaps::showState(std::string_view state)
{
    m_left->setState(state);
    m_right->setState(state);
    m_state->setCurrentText(toText(m_left->state()));
    updateLegend();
}

void CompareMaps::followFindings(const FindingStore& store)
{
    m_store = &store;
    connect(&store, &FindingStore::changed, this, &CompareMaps::showFindings);
    showFindings();
}

void CompareMaps::showFindings()
{
    if (m_store == nullptr || !m_outcome)
        return;
    m_left->setFindings(*m_store->of(m_outcome->left));
    m_right->setFindings(*m_store->of(m_outcome->right));
    updateLegend();
}

void CompareMaps::updateLegend()
{
    m_legend->setMapPalette(std::make_shared<const MapPalette>(mapPaletteFrom(m_theme)));
    m_legend->setMapStyle(m_left->canvas()->mapStyle());
    m_legend->setStack(m_left->canvas()->stack(), m_right->canvas()->stack());
}

void CompareMaps::showParam(ParamId left, ParamId right, std::string_view state)
{
    if (!m_outcome)
        return;
    m_following = true;
    SelectedThing thing;
    thing.param = drawnLeft(left);
    thing.state = state;
    m_selection.select(thing);
    thing.param = drawnRight(right);
    m_other.select(thing);
    m_following = false;
    showState(state);
}

ParamId CompareMaps::drawnLeft(ParamId param) const
{
    const CheckpointPtr& compared = m_outcome->judged->left;
    return compared == m_outcome->left ? param : sameParameter(*compared, param, *m_outcome->left);
}

ParamId CompareMaps::drawnRight(ParamId param) const
{
    const CheckpointPtr& compared = m_outcome->judged->right;
    return compared == m_outcome->right ? param : sameParameter(*compared, param, *m_outcome->right);
}

void CompareMaps::revealFirst()
{
    // Either map that arrives gives both another scale, and forgets what was revealed.
    if (!m_revealsFirst || !m_left->canvas()->stack() || !m_right->canvas()->stack())
        return;
    m_revealsFirst = false;
    if (!m_selection.current().isEmpty())
        return;
    const DifferenceList& list = *m_outcome->differences;
    const ParamDifference* first = list.size() > 0 ? list.param(0) : nullptr;
    if (first == nullptr)
        return;
    m_left->reveal(drawnLeft(first->param.left));
    m_right->reveal(drawnRight(first->param.right));
}

void CompareMaps::followLeft(const SelectedThing& thing)
{
    if (m_following || !m_outcome)
        return;
    m_following = true;
    SelectedThing other;
    other.param = sameParameter(*m_outcome->left, thing.param, *m_outcome->right);
    other.state = thing.state;
    m_other.select(other);
    m_following = false;
    m_state->setCurrentText(toText(m_left->state()));
}

void CompareMaps::followRight(const SelectedThing& thing)
{
    if (m_following || !m_outcome)
        return;
    m_following = true;
    SelectedThing other;
    other.param = sameParameter(*m_outcome->right, thing.param, *m_outcome->left);
    other.state = thing.state;
    if (other.param != kNoParam)
        m_selection.select(other);
    m_following = false;
}

bool CompareMaps::isDrawn() const
{
    return !m_left->isBusy() && !m_right->isBusy();
}

} // namespace shardscope::ui
