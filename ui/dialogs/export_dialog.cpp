// SPDX-License-Identifier: Apache-2.0
#include "ui/dialogs/export_dialog.h"

#include "ui/controls/plan_foot.h"
#include "ui/controls/planned_files.h"
#include "ui/dialogs/export_form.h"
#include "ui/dialogs/manual_window.h"
#include "ui/dialogs/plan_saver.h"
#include "ui/text/plan_text.h"
#include "ui/text/text.h"
#include "ui/widgets/message_bar.h"
#include "ui/widgets/window_fit.h"

#include <QLabel>
#include <QPlainTextEdit>
#include <QTabWidget>
#include <QVBoxLayout>

#include <chrono>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

namespace {

constexpr auto kTypingPause = std::chrono::milliseconds(120);

} // namespace

ExportDialog::ExportDialog(
    io::FileSystem& files, PlacedCheckpoint source, const WriteHistory& known, Theme& theme, QWidget* parent)
    : QDialog(parent)
    , m_files(files)
    , m_source(std::move(source.checkpoint))
    , m_place(std::move(source.place))
    , m_theme(theme)
    , m_form(new ExportForm(m_source, known.lastTarget, this))
    , m_messages(new MessageBar(theme, this))
    , m_saver(new PlanSaver(m_messages, this))
{
    setObjectName(u"exportDialog"_s);
    setWindowTitle(tr("Export %1").arg(toText(m_source->tag)));
    addManualKey(this, u"exporting"_s);
    resizeWithinScreen(this, {980, 620});
    auto* title = new QLabel(titleText(*m_source), this);
    QFont font = title->font();
    font.setPointSizeF(font.pointSizeF() * 1.3);
    title->setFont(font);
    auto* left = new QVBoxLayout;
    left->setSpacing(14);
    left->addWidget(title);
    left->addWidget(m_form);
    left->addStretch();
    auto* content = new QWidget(this);
    auto* upper = new QHBoxLayout(content);
    upper->setContentsMargins(0, 0, 0, 0);
    upper->setSpacing(22);
    upper->addLayout(left, 1);
    upper->addWidget(makeFacts(), 1);
    auto* rows = new QVBoxLayout(this);
    rows->setContentsMargins(18, 16, 18, 14);
    rows->setSpacing(12);
    rows->addWidget(scrolled(content, this), 1);
    rows->addWidget(m_messages);
    m_foot = new PlanFoot(theme, u"export"_s, this);
    m_foot->setWriteRate(known.writeRate);
    rows->addWidget(m_foot);
    m_pause.setSingleShot(true);
    m_pause.setInterval(kTypingPause);
    connect(&m_pause, &QTimer::timeout, this, &ExportDialog::plan);
    connect(m_foot, &PlanFoot::startRequested, this, &ExportDialog::start);
    connect(m_foot, &PlanFoot::saveRequested, this, &ExportDialog::savePlan);
    connect(m_foot, &PlanFoot::cancelRequested, this, &QDialog::reject);
    connect(m_form, &ExportForm::changed, this, &ExportDialog::planSoon);
    planSoon();
}

QWidget* ExportDialog::makeFacts()
{
    m_facts = new QTabWidget(this);
    m_facts->setObjectName(u"exportFacts"_s);
    m_facts->setDocumentMode(true);
    m_fileList = new PlannedFiles(m_theme, u"exportFiles"_s, m_facts);
    m_warnings = new QPlainTextEdit(m_facts);
    m_warnings->setObjectName(u"exportWarnings"_s);
    m_warnings->setAccessibleName(tr("Warnings"));
    m_warnings->setReadOnly(true);
    m_warnings->setFrameShape(QFrame::NoFrame);
    m_facts->addTab(m_fileList, tr("Files"));
    m_facts->addTab(m_warnings, tr("Warnings"));
    return m_facts;
}

QPushButton* ExportDialog::startButton() const
{
    return m_foot->startButton();
}

void ExportDialog::planSoon()
{
    m_foot->showPlanning();
    m_planner.cancel();
    m_pause.start();
}

void ExportDialog::plan()
{
    m_wish = m_form->wish();
    if (!m_wish) {
        ExportPreview preview;
        preview.problem = Error{ErrorCode::Usage, m_form->problem().toStdString(), {}, {}};
        return show(std::move(preview));
    }
    m_foot->setCommand(exportCommand(sourceWords(*m_source, m_place), *m_wish));
    m_planner.run<ExportPreview>(
        [&files = m_files, source = m_source, wish = *m_wish](
            const std::stop_token& token, const std::function<void(ExportPreview)>& deliver) {
            deliver(previewExport(files, source, wish, token));
        },
        [this](ExportPreview preview) { show(std::move(preview)); });
}

void ExportDialog::show(ExportPreview preview)
{
    m_preview = std::move(preview);
    const WritePlan* plan = m_preview.plan.get();
    m_form->setAdapterIsConfigured(plan != nullptr && takesConfigurationAlong(*plan));
    if (m_preview.problem)
        m_messages->showMessage(
            plan != nullptr ? Severity::Warning : Severity::Error, errorText(*m_preview.problem));
    else if (m_preview.resumes)
        m_messages->showMessage(Severity::Info, resumeText());
    else if (!m_preview.note.isEmpty())
        m_messages->showMessage(Severity::Info, m_preview.note);
    else
        m_messages->hide();
    m_foot->setResumes(m_preview.resumes && !m_preview.problem);
    m_foot->showPlan(plan, m_preview.freeBytes, !m_preview.problem);
    m_fileList->setPlan(m_preview.plan);
    const QString warnings = plan != nullptr ? planWarnings(*plan) : QString();
    m_warnings->setPlainText(warnings.isEmpty() && plan != nullptr ? tr("None.") : warnings);
    m_facts->setTabText(
        0, plan != nullptr ? tr("Files (%1)").arg(countText(plan->files.size())) : tr("Files"));
    m_facts->setTabText(
        1, warnings.isEmpty() ? tr("Warnings") : tr("Warnings (%1)").arg(plan->warnings.size()));
    Q_EMIT previewShown();
}

void ExportDialog::savePlan()
{
    if (!m_preview.plan || m_preview.problem || !m_wish)
        return;
    m_saver->ask(m_wish->target,
        [plan = m_preview.plan, source = PlacedCheckpoint{m_source, m_place}, to = m_wish->target] {
            return savedPlanOf(*plan, source, to);
        });
}

void ExportDialog::start()
{
    if (!m_preview.plan || m_preview.problem || !m_wish)
        return;
    Q_EMIT startRequested(m_preview, *m_wish);
    accept();
}

} // namespace shardscope::ui
