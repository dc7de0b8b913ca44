// SPDX-License-Identifier: Apache-2.0
#pragma once

// Room ui/dialogs: the dialogs of the main window, and its command palette. It uses
// ui/{layoutmap,controls,models,jobs,widgets} and lower rooms, not ui/pages; only ui/shell includes it. Start
// with ReshardDialog; ReshardForm has its choices.

#include "ui/jobs/latest_only.h"
#include "ui/models/plans/reshard_preview.h"
#include "ui/style/theme.h"

#include <QDialog>
#include <QTimer>

class QComboBox;
class QLabel;
class QPushButton;
class QTabWidget;
class QPlainTextEdit;

namespace shardscope::ui {

class LayoutMapView;
class MessageBar;
class PlanFoot;
class PlannedFiles;
class ReshardForm;

/// One-click reshard: the new GPU count, the new map next to the old one, and all facts of the plan,
/// before any file is written.
class ReshardDialog : public QDialog
{
    Q_OBJECT
public:
    ReshardDialog(io::FileSystem& files, PlacedCheckpoint source, const QString& lastTarget, Theme& theme,
        QWidget* parent = nullptr);

    [[nodiscard]] ReshardForm* form() const { return m_form; }
    /// The plan as shown; null while it is being made or when there is none.
    [[nodiscard]] const ReshardPreview& preview() const { return m_preview; }
    [[nodiscard]] QPushButton* startButton() const;

Q_SIGNALS:
    /// Start was pressed: run this plan.
    void startRequested(
        const std::shared_ptr<const shardscope::ReshardPlan>& plan, const shardscope::ui::ReshardWish& wish);
    /// A plan, or the reason for its absence, is on screen.
    void previewShown();

private:
    QWidget* makeMaps();
    QWidget* makeFacts();
    void planSoon();
    void plan();
    void show(ReshardPreview preview);
    void showFacts();
    void showSource();
    void showUnits();
    void start();

    io::FileSystem& m_files;
    CheckpointPtr m_source;
    CheckPlace m_place; ///< where the source was opened
    Theme& m_theme;
    ReshardForm* m_form;
    MessageBar* m_messages;
    LayoutMapView* m_before;
    LayoutMapView* m_after;
    QLabel* m_beforeTitle;
    QLabel* m_afterTitle;
    QComboBox* m_group;
    QTabWidget* m_facts;
    PlannedFiles* m_fileList;
    QPlainTextEdit* m_warnings;
    QPlainTextEdit* m_batch;
    QPlainTextEdit* m_equal;
    PlanFoot* m_foot = nullptr;
    ReshardPreview m_preview;
    std::optional<ReshardWish> m_wish; ///< the choices of the preview
    QTimer m_pause;
    CheckpointPtr m_sourceShown; ///< the source with its param groups as wholes, once it is made
    LatestOnly m_merger{WorkLength::Long};
    LatestOnly m_planner{WorkLength::Long};
};

} // namespace shardscope::ui
