// SPDX-License-Identifier: Apache-2.0
#pragma once

// Folder ui/dialogs: the dialogs of the main window, and its command palette. Start with PlanDialog;
// ReshardForm and ExportForm have the choices.

#include "ui/controls/file_saver.h"
#include "ui/dialogs/plan_form.h"
#include "ui/jobs/latest_only.h"
#include "ui/session/findings/finding_store.h"
#include "ui/session/stored_jobs.h"
#include "ui/style/settings.h"

#include <QDialog>
#include <QTimer>

#include <optional>
#include <vector>

class QPlainTextEdit;
class QPushButton;
class QSplitter;
class QTabWidget;

namespace shardscope::ui {

class MessageBar;
class PlanFoot;
class PlannedFiles;

/// A dialog that writes files: its form and all facts of the plan, with exact sizes, before any file is
/// written.
class PlanDialog : public QDialog
{
    Q_OBJECT
public:
    [[nodiscard]] QPushButton* startButton() const;
    [[nodiscard]] const Checkpoint& source() const { return *m_source.checkpoint; }
    /// As shown; without a plan while it is being made or when there is none.
    [[nodiscard]] virtual const PlanPreview& preview() const = 0;
    /// The choices of the preview; null while a field is not valid.
    [[nodiscard]] virtual const PlanWish* wish() const = 0;
    /// The command line that does the same.
    [[nodiscard]] const QString& command() const { return m_command; }
    /// Makes the saved form of the plan as shown; for a worker.
    [[nodiscard]] std::function<SavedPlan()> toSave() const;
    /// Says which problems of the source's values are known, and go into the copy.
    void setKnown(FindingStore::DetailedFindings known);

Q_SIGNALS:
    /// Start was pressed: run the plan as shown.
    void startRequested();
    /// A plan, or the reason for its absence, is on screen.
    void previewShown();
    /// A button of a refusal was pressed; the dialog has closed.
    void repairWanted();
    void furtherFolderWanted();
    void findingsWanted();

protected:
    void resizeEvent(QResizeEvent* event) override;

    struct Setup {
        QString name; ///< object names begin with it; what the dialog does
        QString title;
        QString topic; ///< of the manual
        QSize size; ///< with text of the usual size
        int forFacts = 1; ///< what they have of the width, where the form has 1
    };
    PlanDialog(PlacedCheckpoint source, Theme& theme, Setup setup, QWidget* parent);

    /// Tab goes through the parts in the order in which they are made: form, facts, foot.
    void makeFacts();
    QPlainTextEdit* addText(const QString& name, const QString& title);
    /// Puts the form, with `below` under it, next to the facts, with a handle between.
    void makeFoot(PlanForm* form, uint64_t writeRate, QWidget* below = nullptr);
    void setCommand(const QString& command);
    /// Plans the choices of the form, or shows why that is not possible.
    virtual void plan() = 0;
    /// Whether the job copies this state of its parameters; empty: the weights.
    [[nodiscard]] virtual bool copies(const std::string& state) const;
    /// The facts of a new preview that only this dialog has.
    virtual void showMore() { }

    /// Shows preview().
    void show();

    PlacedCheckpoint m_source;
    Theme& m_theme;
    QWidget* m_choices = nullptr; ///< the form and what is below it
    QTabWidget* m_facts = nullptr;
    MessageBar* m_messages = nullptr;
    LatestOnly m_planner{WorkLength::Long};

private:
    using Help = void (PlanDialog::*)(); ///< a signal

    void planSoon();
    void shareWidth();
    void showProblem();
    void showKnown();
    /// The buttons that help with the problem.
    [[nodiscard]] QStringList helpFor(const Error& problem);
    void help(int action);
    [[nodiscard]] bool canStart() const;
    void savePlan();

    Setup m_setup;
    QString m_command;
    QSplitter* m_parts = nullptr;
    bool m_isSplitByUser = false;
    PlanFoot* m_foot = nullptr;
    PlannedFiles* m_fileList = nullptr;
    QPlainTextEdit* m_warnings = nullptr;
    MessageBar* m_knownBar = nullptr;
    QString m_knownText; ///< as shown, also where the user has closed it
    FindingStore::DetailedFindings m_known;
    std::vector<Help> m_help; ///< what the buttons of the message do
    QTimer m_pause;
    std::optional<FileSaver> m_saver; ///< since there is a message bar
};

/// The dialog of one kind of plan. `Wish` and `Preview`: as in ui/session/plans, with their previewOf() and
/// commandOf().
template <class Form, class Wish, class Preview>
class PlanDialogOf : public PlanDialog
{
public:
    [[nodiscard]] Form* form() const { return m_form; }
    [[nodiscard]] const Preview& preview() const override { return m_preview; }
    [[nodiscard]] const Wish* wish() const override { return m_wish ? &*m_wish : nullptr; }

protected:
    PlanDialogOf(io::FileSystem& files, const PlacedCheckpoint& source, const WriteHistory& known,
        Theme& theme, const Setup& setup, QWidget* parent)
        : PlanDialog(source, theme, setup, parent)
        , m_files(files)
        , m_form(new Form(source.checkpoint, known.lastTarget, this))
    {
        makeFacts();
    }

    void plan() override
    {
        m_wish = m_form->wish();
        if (!m_wish) {
            Preview preview;
            preview.problem = Error{ErrorCode::Usage, m_form->problem().toStdString(), {}, {}};
            return take(std::move(preview));
        }
        setCommand(commandOf(sourceWords(*m_source.checkpoint, m_source.place), *m_wish));
        m_planner.run<Preview>(
            [&files = m_files, source = m_source.checkpoint, wish = *m_wish](
                const std::stop_token& token, const std::function<void(Preview)>& deliver) {
                deliver(previewOf(files, source, wish, token));
            },
            [this](Preview preview) { take(std::move(preview)); });
    }
    void take(Preview preview)
    {
        m_preview = std::move(preview);
        show();
    }

    io::FileSystem& m_files;
    Form* m_form;
    std::optional<Wish> m_wish;
    Preview m_preview;
};

} // namespace shardscope::ui
