// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/jobs/latest_only.h"
#include "ui/session/plans/export_preview.h"
#include "ui/style/settings.h"

#include <QDialog>
#include <QTimer>

class QPlainTextEdit;
class QPushButton;
class QTabWidget;

namespace shardscope::ui {

class ExportForm;
class MessageBar;
class PlanFoot;
class PlanSaver;
class PlannedFiles;

/// Weights for other tools: shows the exact sizes of the planned files before any file is written.
class ExportDialog : public QDialog
{
    Q_OBJECT
public:
    ExportDialog(io::FileSystem& files, PlacedCheckpoint source, const WriteHistory& known, Theme& theme,
        QWidget* parent = nullptr);

    [[nodiscard]] ExportForm* form() const { return m_form; }
    /// The plan as shown; null while it is being made or when there is none.
    [[nodiscard]] const ExportPreview& preview() const { return m_preview; }
    [[nodiscard]] QPushButton* startButton() const;

Q_SIGNALS:
    /// Start was pressed: run this plan.
    void startRequested(const shardscope::ui::ExportPreview& preview, const shardscope::ui::ExportWish& wish);
    /// A plan, or the reason for its absence, is on screen.
    void previewShown();

private:
    QWidget* makeFacts();
    void planSoon();
    void plan();
    void show(ExportPreview preview);
    void savePlan();
    void start();

    io::FileSystem& m_files;
    CheckpointPtr m_source;
    CheckPlace m_place; ///< where the source was opened
    Theme& m_theme;
    std::optional<ExportWish> m_wish; ///< of m_preview
    ExportPreview m_preview;
    QTimer m_pause;
    ExportForm* m_form;
    MessageBar* m_messages;
    QTabWidget* m_facts = nullptr;
    PlannedFiles* m_fileList = nullptr;
    QPlainTextEdit* m_warnings = nullptr;
    PlanFoot* m_foot = nullptr;
    PlanSaver* m_saver;
    LatestOnly m_planner{WorkLength::Long};
};

} // namespace shardscope::ui
