// SPDX-License-Identifier: Apache-2.0
#include "ui/dialogs/plan_dialog.h"

#include "core/far/far_path.h"
#include "ui/controls/plan_foot.h"
#include "ui/controls/planned_files.h"
#include "ui/dialogs/manual_window.h"
#include "ui/session/findings/check_text.h"
#include "ui/text/plan_text.h"
#include "ui/text/text.h"
#include "ui/widgets/focus_order.h"
#include "ui/widgets/path_field.h"
#include "ui/widgets/window_fit.h"

#include <QPlainTextEdit>
#include <QSplitter>
#include <QTabWidget>
#include <QVBoxLayout>

#include <chrono>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

namespace {

constexpr auto kTypingPause = std::chrono::milliseconds(120);
constexpr QSize kMostForChoices(640, 100); ///< of a small dialog; more is scrolled

/// "Warnings (1)", or "Notes (6)" where none of them is one.
QString notesTitle(const std::vector<Finding>& notes)
{
    const auto warnings
        = std::ranges::count_if(notes, [](const Finding& note) { return note.severity != Severity::Info; });
    return warnings > 0 ? PlanDialog::tr("Warnings (%1)").arg(warnings)
        : notes.empty() ? PlanDialog::tr("Warnings")
                        : PlanDialog::tr("Notes (%1)").arg(notes.size());
}

} // namespace

PlanDialog::PlanDialog(PlacedCheckpoint source, Theme& theme, Setup setup, QWidget* parent)
    : QDialog(parent)
    , m_source(std::move(source))
    , m_theme(theme)
    , m_setup(std::move(setup))
{
    setObjectName(m_setup.name % u"Dialog"_s);
    setWindowTitle(
        m_setup.title.arg(toText(m_source.checkpoint->tag)) % u" – "_s % titleText(*m_source.checkpoint));
    addManualKey(this, m_setup.topic);
    setWindowFlag(Qt::WindowMaximizeButtonHint);
    setSizeGripEnabled(true);
    constexpr double kUsualLine = 16; // larger text needs a larger dialog
    resizeWithinScreen(this, m_setup.size * std::max(fontMetrics().height() / kUsualLine, 1.0));
    m_pause.setSingleShot(true);
    m_pause.setInterval(kTypingPause);
    connect(&m_pause, &QTimer::timeout, this, [this] { plan(); });
}

void PlanDialog::makeFacts()
{
    m_messages = new MessageBar(m_theme, this);
    m_saver.emplace(m_messages);
    connect(m_messages, &MessageBar::actionTriggered, this, &PlanDialog::help);
    m_knownBar = new MessageBar(m_theme, this);
    m_knownBar->setObjectName(m_setup.name % u"Known"_s);
    connect(m_knownBar, &MessageBar::actionTriggered, this, [this] {
        reject();
        Q_EMIT findingsWanted();
    });
    m_facts = new QTabWidget(this);
    m_facts->setObjectName(m_setup.name % u"Facts"_s);
    m_facts->setDocumentMode(true);
    m_fileList = new PlannedFiles(m_theme, m_setup.name % u"Files"_s, m_facts);
    m_facts->addTab(m_fileList, tr("Files"));
    m_warnings = addText(m_setup.name % u"Warnings"_s, tr("Warnings"));
}

void PlanDialog::makeFoot(PlanForm* form, uint64_t writeRate, QWidget* below)
{
    m_foot = new PlanFoot(m_theme, m_setup.name, this);
    m_foot->setWriteRate(writeRate);
    connect(m_foot, &PlanFoot::startRequested, this, [this] {
        if (!canStart())
            return;
        Q_EMIT startRequested();
        accept();
    });
    connect(m_foot, &PlanFoot::saveRequested, this, &PlanDialog::savePlan);
    connect(m_foot, &PlanFoot::cancelRequested, this, &QDialog::reject);
    auto* content = new QWidget(this);
    auto* left = new QVBoxLayout(content);
    left->setContentsMargins(0, 0, 4, 0);
    left->setSpacing(14);
    left->addWidget(form);
    if (below != nullptr)
        left->addWidget(below);
    left->addStretch();
    m_choices = scrolled(content, this, kMostForChoices);
    m_parts = new QSplitter(this);
    m_parts->setObjectName(m_setup.name % u"Parts"_s);
    m_parts->setChildrenCollapsible(false);
    m_parts->setHandleWidth(16);
    m_parts->addWidget(m_choices);
    m_parts->addWidget(m_facts);
    connect(m_parts, &QSplitter::splitterMoved, this, [this] { m_isSplitByUser = true; });
    auto* rows = new QVBoxLayout(this);
    rows->setContentsMargins(18, 16, 18, 14);
    rows->setSpacing(12);
    rows->addWidget(m_parts, 1);
    rows->addWidget(m_knownBar);
    rows->addWidget(m_messages);
    rows->addWidget(m_foot);
    orderFocus({this});
    connect(form, &PlanForm::changed, this, &PlanDialog::planSoon);
    planSoon();
}

void PlanDialog::resizeEvent(QResizeEvent* event)
{
    QDialog::resizeEvent(event);
    shareWidth();
}

void PlanDialog::shareWidth()
{
    if (m_parts == nullptr || m_isSplitByUser)
        return;
    const int unit = width() / (1 + m_setup.forFacts);
    m_parts->setSizes({unit, width() - unit});
}

void PlanDialog::setCommand(const QString& command)
{
    m_command = command;
    m_foot->setCommand(command);
}

QPlainTextEdit* PlanDialog::addText(const QString& name, const QString& title)
{
    auto* text = new QPlainTextEdit(m_facts);
    text->setObjectName(name);
    text->setAccessibleName(title);
    text->setReadOnly(true);
    text->setFrameShape(QFrame::NoFrame);
    m_facts->addTab(text, title);
    return text;
}

QPushButton* PlanDialog::startButton() const
{
    return m_foot->startButton();
}

void PlanDialog::planSoon()
{
    m_foot->showPlanning();
    m_planner.cancel();
    m_pause.start();
}

void PlanDialog::show()
{
    const WritePlanPtr& plan = preview().plan;
    showProblem();
    const bool isFar = wish() != nullptr && far::isFar(wish()->target);
    m_foot->setWhyNotSaved(isFar
            ? tr("A saved plan runs on the machine that it writes to. This target is on another host: Start, "
                 "or the command above, runs the job there.")
            : QString());
    m_foot->setResumes(preview().resumes && !preview().problem);
    m_foot->showPlan(plan.get(), preview().freeBytes, !preview().problem);
    m_fileList->setPlan(plan);
    m_facts->setTabText(m_facts->indexOf(m_fileList),
        plan ? tr("Files (%1)").arg(countText(plan->files.size())) : tr("Files"));
    const QString warnings = plan ? planWarnings(*plan) : QString();
    m_warnings->setPlainText(warnings.isEmpty() && plan ? tr("None.") : warnings);
    m_facts->setTabText(m_facts->indexOf(m_warnings), plan ? notesTitle(plan->warnings) : tr("Warnings"));
    showMore();
    showKnown(); // of the states that are copied now
    Q_EMIT previewShown();
}

void PlanDialog::setKnown(FindingStore::DetailedFindings known)
{
    m_known = std::move(known);
    showKnown();
}

bool PlanDialog::copies(const std::string& /*state*/) const
{
    return true;
}

void PlanDialog::showKnown()
{
    const bool copiesNothing = preview().problem && !preview().plan;
    const QString text = m_known && !copiesNothing
        ? copiedFaultsText(*m_known, [this](const std::string& state) { return copies(state); })
        : QString();
    if (std::exchange(m_knownText, text) == text)
        return;
    if (text.isEmpty())
        m_knownBar->hide();
    else
        m_knownBar->showMessage(Severity::Warning, text, {tr("Show F&indings")});
}

void PlanDialog::showProblem()
{
    const std::optional<Error>& problem = preview().problem;
    if (problem)
        m_messages->showMessage(
            preview().plan ? Severity::Warning : Severity::Error, errorText(*problem), helpFor(*problem));
    else if (preview().resumes)
        m_messages->showMessage(Severity::Info, resumeText());
    else if (!preview().note.isEmpty())
        m_messages->showMessage(Severity::Info, preview().note);
    else
        m_messages->hide();
}

QStringList PlanDialog::helpFor(const Error& problem)
{
    m_help.clear();
    if (preview().plan || (problem.code != ErrorCode::Refused && problem.code != ErrorCode::Damaged))
        return {};
    m_help = {&PlanDialog::repairWanted};
    if (source().complete)
        return {tr("&Repair…")};
    m_help.push_back(&PlanDialog::furtherFolderWanted);
    return {tr("&Repair…"), tr("&Add Folder…")};
}

void PlanDialog::help(int action)
{
    const Help wanted = m_help.at(static_cast<size_t>(action));
    reject();
    Q_EMIT(this->*wanted)();
}

bool PlanDialog::canStart() const
{
    return preview().plan && !preview().problem && wish() != nullptr;
}

std::function<SavedPlan()> PlanDialog::toSave() const
{
    return [plan = preview().plan, source = m_source, to = wish()->target] {
        return savedPlanOf(*plan, source, to);
    };
}

void PlanDialog::savePlan()
{
    if (!canStart())
        return;
    const io::Path& target = wish()->target;
    askForPath(this,
        {.kind = PathQuestion::Kind::NewFile,
            .name = u"planFileDialog"_s,
            .title = tr("Save the Plan"),
            .start = QString::fromStdString(target.parent_path().native()),
            .filters = tr("Plans (*.json)"),
            .suggested = pathText(target.filename()) % u".json"_s},
        [this, make = toSave()](const QString& path) {
            m_saver->save(
                [path, make] {
                    const SavedPlan plan = make();
                    SaveTarget file{path, plan.roots};
                    file.read.push_back(plan.source);
                    return savePlanText(file, plan);
                },
                tr("Saved the plan. This command runs it: shardscope run %1").arg(quotedWord(path)),
                tr("The plan could not be saved to %1: ").arg(path));
        });
}

} // namespace shardscope::ui
