// SPDX-License-Identifier: Apache-2.0
#include "ui/dialogs/reshard_dialog.h"

#include "ui/controls/plan_foot.h"
#include "ui/controls/planned_files.h"
#include "ui/dialogs/manual_window.h"
#include "ui/dialogs/reshard_form.h"
#include "ui/layoutmap/layout_map_view.h"
#include "ui/models/whole_groups.h"
#include "ui/text/plan_text.h"
#include "ui/text/text.h"
#include "ui/widgets/message_bar.h"
#include "ui/widgets/window_fit.h"

#include <QComboBox>
#include <QGridLayout>
#include <QLabel>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QTabWidget>

#include <chrono>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

namespace {

constexpr auto kTypingPause = std::chrono::milliseconds(120);

QPlainTextEdit* makeText(const QString& name, QWidget* parent)
{
    auto* text = new QPlainTextEdit(parent);
    text->setObjectName(name);
    text->setReadOnly(true);
    text->setFrameShape(QFrame::NoFrame);
    return text;
}

} // namespace

ReshardDialog::ReshardDialog(
    io::FileSystem& files, PlacedCheckpoint source, const QString& lastTarget, Theme& theme, QWidget* parent)
    : QDialog(parent)
    , m_files(files)
    , m_source(std::move(source.checkpoint))
    , m_place(std::move(source.place))
    , m_theme(theme)
    , m_form(new ReshardForm(m_source, lastTarget, this))
    , m_messages(new MessageBar(theme, this))
{
    setObjectName(u"reshardDialog"_s);
    setWindowTitle(tr("Reshard %1").arg(toText(m_source->tag)));
    addManualKey(this, u"resharding"_s);
    resizeWithinScreen(this, {1120, 760});
    auto* title = new QLabel(titleText(*m_source), this);
    QFont font = title->font();
    font.setPointSizeF(font.pointSizeF() * 1.3);
    title->setFont(font);

    QWidget* maps = makeMaps();
    auto* left = new QVBoxLayout;
    left->setSpacing(14);
    left->addWidget(title);
    left->addWidget(m_form);
    left->addStretch();
    left->addWidget(m_group, 0, Qt::AlignRight); // next to its maps
    auto* upper = new QHBoxLayout;
    upper->setSpacing(22);
    upper->addLayout(left, 2);
    upper->addWidget(maps, 3);
    auto* content = new QWidget(this);
    auto* parts = new QVBoxLayout(content);
    parts->setContentsMargins(0, 0, 0, 0);
    parts->setSpacing(12);
    parts->addLayout(upper, 3);
    parts->addWidget(makeFacts(), 2);
    auto* rows = new QVBoxLayout(this);
    rows->setContentsMargins(18, 16, 18, 14);
    rows->setSpacing(12);
    rows->addWidget(scrolled(content, this), 1);
    rows->addWidget(m_messages);
    m_foot = new PlanFoot(theme, u"reshard"_s, this);
    rows->addWidget(m_foot);

    m_pause.setSingleShot(true);
    m_pause.setInterval(kTypingPause);
    connect(&m_pause, &QTimer::timeout, this, &ReshardDialog::plan);
    connect(m_foot, &PlanFoot::startRequested, this, &ReshardDialog::start);
    connect(m_foot, &PlanFoot::cancelRequested, this, &QDialog::reject);
    connect(m_form, &ReshardForm::changed, this, &ReshardDialog::planSoon);
    showSource();
    planSoon();
}

QWidget* ReshardDialog::makeMaps()
{
    auto* maps = new QWidget(this);
    m_group = new QComboBox(maps);
    m_group->setObjectName(u"reshardGroup"_s);
    m_group->setAccessibleName(tr("Param group shown on the maps"));
    for (const ParamGroup& group : m_source->groups)
        m_group->addItem(tr("Maps show group %1").arg(group.index));
    m_group->setVisible(m_group->count() > 1);
    m_beforeTitle = new QLabel(maps);
    m_beforeTitle->setObjectName(u"reshardTitleBefore"_s);
    m_afterTitle = new QLabel(maps);
    m_afterTitle->setObjectName(u"reshardTitleAfter"_s);
    m_before = new LayoutMapView(&m_theme, maps);
    m_before->setObjectName(u"reshardMapBefore"_s);
    m_after = new LayoutMapView(&m_theme, maps);
    m_after->setObjectName(u"reshardMapAfter"_s);
    for (LayoutMapView* map : {m_before, m_after}) {
        map->setCompact(true);
        map->setMinimumSize(190, 160);
    }
    auto* grid = new QGridLayout(maps);
    grid->setContentsMargins(0, 0, 0, 0);
    grid->setHorizontalSpacing(14);
    grid->setVerticalSpacing(6);
    grid->addWidget(m_beforeTitle, 0, 0);
    grid->addWidget(m_afterTitle, 0, 1);
    grid->addWidget(m_before, 1, 0);
    grid->addWidget(m_after, 1, 1);
    grid->setRowStretch(1, 1);
    grid->setColumnStretch(0, 1);
    grid->setColumnStretch(1, 1);
    connect(m_group, &QComboBox::currentIndexChanged, this, &ReshardDialog::showUnits);
    return maps;
}

QWidget* ReshardDialog::makeFacts()
{
    m_facts = new QTabWidget(this);
    m_facts->setObjectName(u"reshardFacts"_s);
    m_facts->setDocumentMode(true);
    m_fileList = new PlannedFiles(m_theme, u"reshardFiles"_s, m_facts);
    m_warnings = makeText(u"reshardWarnings"_s, m_facts);
    m_batch = makeText(u"reshardBatch"_s, m_facts);
    m_equal = makeText(u"reshardEqual"_s, m_facts);
    m_facts->addTab(m_fileList, tr("Files"));
    m_facts->addTab(m_warnings, tr("Warnings"));
    m_facts->addTab(m_batch, tr("Batch"));
    m_facts->addTab(m_equal, tr("Must stay equal"));
    return m_facts;
}

QPushButton* ReshardDialog::startButton() const
{
    return m_foot->startButton();
}

void ReshardDialog::planSoon()
{
    m_foot->showPlanning();
    m_planner.cancel();
    m_pause.start();
}

void ReshardDialog::plan()
{
    m_wish = m_form->wish();
    if (!m_wish) {
        ReshardPreview preview;
        preview.problem = Error{ErrorCode::Usage, m_form->problem().toStdString(), {}, {}};
        show(std::move(preview));
        return;
    }
    m_foot->setCommand(reshardCommand(sourceWords(*m_source, m_place), *m_wish));
    m_planner.run<ReshardPreview>(
        [&files = m_files, source = m_source, wish = *m_wish](
            const std::stop_token& token, const std::function<void(ReshardPreview)>& deliver) {
            deliver(previewReshard(files, source, wish, token));
        },
        [this](ReshardPreview preview) { show(std::move(preview)); });
}

void ReshardDialog::show(ReshardPreview preview)
{
    m_preview = std::move(preview);
    if (m_preview.problem)
        m_messages->showMessage(
            m_preview.plan ? Severity::Warning : Severity::Error, errorText(*m_preview.problem));
    else
        m_messages->hide();
    m_foot->showPlan(m_preview.plan.get(), m_preview.freeBytes, !m_preview.problem);
    m_after->setCheckpoint(m_preview.target);
    showUnits();
    showFacts();
    Q_EMIT previewShown();
}

void ReshardDialog::showSource()
{
    if (!hasSplitGroups(*m_source)) {
        m_before->setCheckpoint(m_source);
        showUnits();
        return;
    }
    showUnits();
    m_merger.run<CheckpointPtr>(
        [source = m_source](const std::stop_token&, const std::function<void(CheckpointPtr)>& deliver) {
            deliver(withWholeGroups(*source));
        },
        [this](const CheckpointPtr& whole) {
            m_before->setCheckpoint(whole);
            m_sourceShown = whole;
            showUnits();
        });
}

void ReshardDialog::showUnits()
{
    const auto at = static_cast<size_t>(std::max(0, m_group->currentIndex()));
    const auto titleOf = [](const QString& before, uint32_t ranks, size_t subGroups) {
        const QString title = before.arg(ranks == 1 ? tr("1 GPU") : tr("%1 GPUs").arg(countText(ranks)));
        return subGroups > 1 ? title % u" · "_s % tr("%1 sub-groups").arg(subGroups) : title;
    };
    const auto showGroup = [at](LayoutMapView* map, const CheckpointPtr& checkpoint) {
        if (checkpoint && at < checkpoint->groups.size() && !checkpoint->groups[at].units.empty())
            map->setUnit(checkpoint->groups[at].units.front());
    };
    showGroup(m_before, m_sourceShown ? m_sourceShown : m_source);
    showGroup(m_after, m_preview.target);
    m_beforeTitle->setText(titleOf(tr("Now: %1"), m_source->parallel.ranks(),
        at < m_source->groups.size() ? subGroupsOf(*m_source, m_source->groups[at]) : 0));
    if (isConverted(m_source->kind))
        m_beforeTitle->setText(
            isUniversal(m_source->kind) ? tr("Now: universal folder") : tr("Now: distributed checkpoint"));
    if (m_preview.plan && isUniversal(m_preview.plan->targetKind()))
        return m_afterTitle->setText(tr("Then: universal folder"));
    m_afterTitle->setText(m_preview.plan ? titleOf(tr("Then: %1"), m_preview.plan->worldSize(),
                              at < m_preview.subGroups.size() ? m_preview.subGroups[at] : 0)
                                         : tr("No plan"));
}

void ReshardDialog::showFacts()
{
    m_fileList->setPlan(m_preview.plan);
    m_warnings->clear();
    m_batch->clear();
    m_equal->clear();
    if (!m_preview.plan) {
        m_facts->setTabText(0, tr("Files"));
        m_facts->setTabText(1, tr("Warnings"));
        return;
    }
    const ReshardPlan& plan = *m_preview.plan;
    const QString warnings = planWarnings(plan);
    m_warnings->setPlainText(warnings.isEmpty() ? tr("None.") : warnings);
    QStringList batch;
    for (const BatchPair& pair : plan.batch())
        batch.append(tr("micro-batch %1 × accumulation %2").arg(pair.microBatch).arg(pair.accumulation));
    if (isUniversal(plan.targetKind()))
        m_batch->setPlainText(tr("Any run can load it, with any batch size."));
    else
        m_batch->setPlainText(batch.isEmpty()
                ? tr("The checkpoint does not record its batch sizes.")
                : tr("These keep the global batch on %1 GPUs:").arg(plan.worldSize()) % u'\n'
                    % batch.join(u'\n'));
    QStringList equal;
    for (const auto& [key, value] : plan.mustStayEqual())
        equal.append(toText(key) % u" = "_s % toText(value));
    m_equal->setPlainText(
        equal.isEmpty() ? tr("No settings are known that must stay equal.") : equal.join(u'\n'));
    m_facts->setTabText(0, tr("Files (%1)").arg(countText(plan.files().size())));
    m_facts->setTabText(
        1, warnings.isEmpty() ? tr("Warnings") : tr("Warnings (%1)").arg(plan.warnings().size()));
}

void ReshardDialog::start()
{
    if (!m_preview.plan || m_preview.problem || !m_wish)
        return;
    Q_EMIT startRequested(m_preview.plan, *m_wish);
    accept();
}

} // namespace shardscope::ui
