// SPDX-License-Identifier: Apache-2.0
#include "ui/dialogs/plan_saver.h"

#include "ui/session/shell_words.h"
#include "ui/text/text.h"
#include "ui/widgets/message_bar.h"

#include <QFileDialog>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

PlanSaver::PlanSaver(MessageBar* messages, QWidget* dialog)
    : QObject(dialog)
    , m_dialog(dialog)
    , m_messages(messages)
{
}

void PlanSaver::ask(const io::Path& target, const Make& make)
{
    auto* dialog = new QFileDialog(
        m_dialog, tr("Save the Plan"), QString::fromStdString(target.parent_path().native()));
    dialog->setObjectName(u"planFileDialog"_s);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setAcceptMode(QFileDialog::AcceptSave);
    dialog->setNameFilter(tr("Plans (*.json)"));
    dialog->setDefaultSuffix(u"json"_s);
    dialog->selectFile(pathText(target.filename()) % u".json"_s);
    connect(
        dialog, &QFileDialog::fileSelected, this, [this, make](const QString& path) { save(path, make); });
    dialog->open();
}

void PlanSaver::save(const QString& path, const Make& make)
{
    m_writer.run<QString>(
        [path, make](const std::stop_token&, const std::function<void(QString)>& deliver) {
            const SavedPlan plan = make();
            SaveTarget target{path, plan.roots};
            target.read.push_back(plan.source);
            deliver(savePlanText(target, plan));
        },
        [this, path](const QString& problem) {
            m_messages->showMessage(problem.isEmpty() ? Severity::Info : Severity::Error,
                problem.isEmpty()
                    ? tr("Saved the plan. This command runs it: shardscope run %1").arg(quotedWord(path))
                    : tr("The plan could not be saved to %1: %2").arg(path, problem));
        });
}

} // namespace shardscope::ui
