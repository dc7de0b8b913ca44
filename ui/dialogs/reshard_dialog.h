// SPDX-License-Identifier: Apache-2.0
#pragma once

// Folder ui/dialogs: the dialogs of the main window, and its command palette. Start with ReshardDialog;
// ReshardForm has its choices.

#include "ui/jobs/latest_only.h"
#include "ui/session/plans/reshard_preview.h"
#include "ui/style/settings.h"

#include <QDialog>
#include <QTimer>

class QLabel;
class QPlainTextEdit;
class QPushButton;
class QTabWidget;

namespace shardscope::ui {

class BatchChoices;
class MessageBar;
class PlanFoot;
class PlanSaver;
class PlannedFiles;
class ReshardForm;
class ReshardMaps;

/// One-click reshard: the new GPU count, the new map below the old one, and all facts of the plan, before any
/// file is written.
class ReshardDialog : public QDialog
{
    Q_OBJECT
public:
    ReshardDialog(io::FileSystem& files, PlacedCheckpoint source, const WriteHistory& known, Theme& theme,
        QWidget* parent = nullptr);

    [[nodiscard]] ReshardForm* form() const { return m_form; }
    /// The plan as shown; null while it is being made or when there is none.
    [[nodiscard]] const ReshardPreview& preview() const { return m_preview; }
    [[nodiscard]] QPushButton* startButton() const;
    [[nodiscard]] const ReshardMaps& maps() const { return *m_maps; }

Q_SIGNALS:
    /// Start was pressed: run this plan.
    void startRequested(
        const std::shared_ptr<const shardscope::WritePlan>& plan, const shardscope::ui::ReshardWish& wish);
    /// A plan, or the reason for its absence, is on screen.
    void previewShown();
    /// The button of a refusal was pressed; the dialog has closed.
    void repairWanted();
    void furtherFolderWanted();
    void exportWanted();

private:
    enum class Help : uint8_t { Repair, AddFolder, Export };

    QWidget* makeFacts();
    QWidget* makeContent();
    void planSoon();
    void plan();
    void show(ReshardPreview preview);
    void showProblem();
    void showFacts();
    void showSource();
    void showTarget();
    void help(int action);
    void savePlan();
    void start();

    io::FileSystem& m_files;
    CheckpointPtr m_source;
    CheckPlace m_place; ///< where the source was opened
    Theme& m_theme;
    ReshardForm* m_form;
    MessageBar* m_messages;
    std::vector<Help> m_help; ///< what the buttons of the message do
    ReshardMaps* m_maps;
    QTabWidget* m_facts = nullptr;
    PlannedFiles* m_fileList = nullptr;
    QPlainTextEdit* m_warnings = nullptr;
    BatchChoices* m_batch = nullptr;
    QPlainTextEdit* m_equal = nullptr;
    PlanFoot* m_foot = nullptr;
    PlanSaver* m_saver;
    ReshardPreview m_preview;
    std::optional<ReshardWish> m_wish; ///< the choices of the preview
    QTimer m_pause;
    LatestOnly m_merger{WorkLength::Long};
    LatestOnly m_planner{WorkLength::Long};
};

} // namespace shardscope::ui
