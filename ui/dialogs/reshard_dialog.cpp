// SPDX-License-Identifier: Apache-2.0
#include "ui/dialogs/reshard_dialog.h"

#include "core/plan/reshard/reshard_advice.h"
#include "ui/controls/plan_foot.h"
#include "ui/controls/planned_files.h"
#include "ui/dialogs/batch_choices.h"
#include "ui/dialogs/manual_window.h"
#include "ui/dialogs/plan_saver.h"
#include "ui/dialogs/reshard_form.h"
#include "ui/dialogs/reshard_maps.h"
#include "ui/jobs/free_later.h"
#include "ui/models/whole_groups.h"
#include "ui/text/plan_text.h"
#include "ui/text/text.h"
#include "ui/widgets/message_bar.h"
#include "ui/widgets/window_fit.h"

#include <QHBoxLayout>
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

QString gpusText(const QString& pattern, uint32_t ranks)
{
    return pattern.arg(
        ranks == 1 ? ReshardDialog::tr("1 GPU") : ReshardDialog::tr("%1 GPUs").arg(countText(ranks)));
}

QString withSubGroups(const QString& title, size_t subGroups)
{
    return subGroups > 1 ? title % u" · "_s % ReshardDialog::tr("%1 sub-groups").arg(countText(subGroups))
                         : title;
}

QString nowText(const Checkpoint& source)
{
    if (isUniversal(source.kind))
        return ReshardDialog::tr("Now: universal folder");
    if (isConverted(source.kind))
        return ReshardDialog::tr("Now: distributed checkpoint");
    return gpusText(ReshardDialog::tr("Now: %1"), source.parallel.ranks());
}

} // namespace

ReshardDialog::ReshardDialog(
    io::FileSystem& files, PlacedCheckpoint source, const WriteHistory& known, Theme& theme, QWidget* parent)
    : QDialog(parent)
    , m_files(files)
    , m_source(std::move(source.checkpoint))
    , m_place(std::move(source.place))
    , m_theme(theme)
    , m_form(new ReshardForm(m_source, known.lastTarget, this))
    , m_messages(new MessageBar(theme, this))
    , m_maps(new ReshardMaps(theme, this))
    , m_saver(new PlanSaver(m_messages, this))
{
    setObjectName(u"reshardDialog"_s);
    setWindowTitle(tr("Reshard %1").arg(toText(m_source->tag)));
    addManualKey(this, u"resharding"_s);
    resizeWithinScreen(this, {1120, 820});
    auto* rows = new QVBoxLayout(this);
    rows->setContentsMargins(18, 16, 18, 14);
    rows->setSpacing(12);
    rows->addWidget(scrolled(makeContent(), this), 1);
    rows->addWidget(m_messages);
    m_foot = new PlanFoot(theme, u"reshard"_s, this);
    m_foot->setWriteRate(known.writeRate);
    rows->addWidget(m_foot);

    m_pause.setSingleShot(true);
    m_pause.setInterval(kTypingPause);
    connect(&m_pause, &QTimer::timeout, this, &ReshardDialog::plan);
    connect(m_foot, &PlanFoot::startRequested, this, &ReshardDialog::start);
    connect(m_foot, &PlanFoot::saveRequested, this, &ReshardDialog::savePlan);
    connect(m_foot, &PlanFoot::cancelRequested, this, &QDialog::reject);
    connect(m_form, &ReshardForm::changed, this, &ReshardDialog::planSoon);
    connect(m_messages, &MessageBar::actionTriggered, this, &ReshardDialog::help);
    showSource();
    planSoon();
}

/// Choices and facts next to each other, the maps below them at full width.
QWidget* ReshardDialog::makeContent()
{
    auto* content = new QWidget(this);
    auto* title = new QLabel(titleText(*m_source), content);
    QFont font = title->font();
    font.setPointSizeF(font.pointSizeF() * 1.3);
    title->setFont(font);
    auto* left = new QVBoxLayout;
    left->setSpacing(14);
    left->addWidget(title);
    left->addWidget(m_form);
    left->addStretch();
    auto* upper = new QHBoxLayout;
    upper->setSpacing(22);
    upper->addLayout(left, 1);
    upper->addWidget(makeFacts(), 1);
    auto* parts = new QVBoxLayout(content);
    parts->setContentsMargins(0, 0, 0, 0);
    parts->setSpacing(12);
    parts->addLayout(upper);
    parts->addWidget(m_maps, 1);
    return content;
}

QWidget* ReshardDialog::makeFacts()
{
    m_facts = new QTabWidget(this);
    m_facts->setObjectName(u"reshardFacts"_s);
    m_facts->setDocumentMode(true);
    m_fileList = new PlannedFiles(m_theme, u"reshardFiles"_s, m_facts);
    m_warnings = makeText(u"reshardWarnings"_s, m_facts);
    m_batch = new BatchChoices(m_facts);
    m_equal = makeText(u"reshardEqual"_s, m_facts);
    m_facts->addTab(m_fileList, tr("Files"));
    m_facts->addTab(m_warnings, tr("Warnings"));
    m_facts->addTab(m_batch, tr("Keep the batch size"));
    m_facts->addTab(m_equal, tr("Config must match"));
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
    if (m_form->wantsDistributed()) {
        m_wish.reset();
        m_foot->setCommand({});
        return show({});
    }
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
    showProblem();
    m_foot->setResumes(m_preview.resumes && !m_preview.problem);
    m_foot->showPlan(m_preview.plan.get(), m_preview.freeBytes, !m_preview.problem);
    showTarget();
    showFacts();
    Q_EMIT previewShown();
}

void ReshardDialog::showProblem()
{
    m_help.clear();
    if (m_form->wantsDistributed()) {
        m_help = {Help::Export};
        return m_messages->showMessage(Severity::Info,
            tr("A distributed checkpoint has no ranks of its own: any number of GPUs loads it. The export "
               "writes it."),
            {tr("&Export…")});
    }
    if (!m_preview.problem && m_preview.resumes)
        return m_messages->showMessage(Severity::Info, resumeText());
    if (!m_preview.problem)
        return m_messages->hide();
    QStringList buttons;
    const ErrorCode code = m_preview.problem->code;
    if (!m_preview.plan && (code == ErrorCode::Refused || code == ErrorCode::Damaged)) {
        m_help.push_back(Help::Repair);
        buttons.append(tr("&Repair…"));
        if (!m_source->complete) {
            m_help.push_back(Help::AddFolder);
            buttons.append(tr("&Add Folder…"));
        }
    }
    m_messages->showMessage(
        m_preview.plan ? Severity::Warning : Severity::Error, errorText(*m_preview.problem), buttons);
}

void ReshardDialog::help(int action)
{
    const Help wanted = m_help.at(static_cast<size_t>(action));
    reject();
    switch (wanted) {
    case Help::Repair:
        Q_EMIT repairWanted();
        break;
    case Help::AddFolder:
        Q_EMIT furtherFolderWanted();
        break;
    case Help::Export:
        Q_EMIT exportWanted();
        break;
    }
}

void ReshardDialog::showSource()
{
    m_maps->setBefore({nullptr, nullptr, nowText(*m_source), {}}); // until it is made
    m_merger.run<ReshardMaps::Side>(
        [source = m_source](const std::stop_token&, const std::function<void(ReshardMaps::Side)>& deliver) {
            // The plan's map has no tensors that every rank keeps whole either.
            auto shown
                = std::make_shared<Checkpoint>(hasSplitGroups(*source) ? *withWholeGroups(*source) : *source);
            shown->whole.clear();
            size_t subGroups = 0;
            for (const ParamGroup& group : source->groups)
                subGroups = std::max(subGroups, subGroupsOf(*source, group));
            deliver({freedOnWorker<const Checkpoint>(shown), freedOnWorker(mapLooks(*shown)),
                withSubGroups(nowText(*source), subGroups), rankLoad(*source)});
        },
        [this](const ReshardMaps::Side& side) { m_maps->setBefore(side); });
}

void ReshardDialog::showTarget()
{
    const WritePlan* plan = m_preview.plan.get();
    QString title = tr("No plan");
    if (plan != nullptr)
        title = isUniversal(plan->reshard->kind)
            ? tr("Then: universal folder")
            : withSubGroups(gpusText(tr("Then: %1"), plan->reshard->worldSize), m_preview.subGroups);
    m_maps->setAfter({m_preview.target, m_preview.looks, title, m_preview.load});
}

void ReshardDialog::showFacts()
{
    m_fileList->setPlan(m_preview.plan);
    m_warnings->clear();
    m_batch->setPlan(
        m_preview.plan.get(), m_preview.target ? m_preview.target->parallel.dp : 1, globalBatch(*m_source));
    m_equal->clear();
    if (!m_preview.plan) {
        m_facts->setTabText(0, tr("Files"));
        m_facts->setTabText(1, tr("Warnings"));
        return;
    }
    const WritePlan& plan = *m_preview.plan;
    const QString warnings = planWarnings(plan);
    m_warnings->setPlainText(warnings.isEmpty() ? tr("None.") : warnings);
    QStringList equal;
    for (const auto& [key, value] : plan.reshard->mustStayEqual)
        equal.append(toText(key) % u" = "_s % toText(value));
    m_equal->setPlainText(
        equal.isEmpty() ? tr("No settings are known that must stay equal.") : equal.join(u'\n'));
    m_facts->setTabText(0, tr("Files (%1)").arg(countText(plan.files.size())));
    m_facts->setTabText(
        1, warnings.isEmpty() ? tr("Warnings") : tr("Warnings (%1)").arg(plan.warnings.size()));
}

void ReshardDialog::savePlan()
{
    if (!m_preview.plan || m_preview.problem || !m_wish)
        return;
    m_saver->ask(m_wish->destination,
        [plan = m_preview.plan, source = PlacedCheckpoint{m_source, m_place}, to = m_wish->destination] {
            return savedPlanOf(*plan, source, to);
        });
}

void ReshardDialog::start()
{
    if (!m_preview.plan || m_preview.problem || !m_wish)
        return;
    Q_EMIT startRequested(m_preview.plan, *m_wish);
    accept();
}

} // namespace shardscope::ui
