// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/jobs/latest_only.h"
#include "ui/models/explorer_model.h"
#include "ui/models/selection.h"
#include "ui/style/theme.h"

#include <QWidget>

class QTreeView;

namespace shardscope::ui {

class FindingMarker;
class FindingStore;

/// The Explorer dock's content: modules, ranks, files and groups as one tree with size bars.
class ExplorerPanel : public QWidget
{
    Q_OBJECT
public:
    ExplorerPanel(Theme& theme, Selection& selection, QWidget* parent = nullptr);

    void setCheckpoint(const CheckpointPtr& checkpoint);
    /// Marks the findings of the checkpoint. `store` outlives the panel.
    void followFindings(const FindingStore& store);
    [[nodiscard]] QSize sizeHint() const override { return {290, 500}; }
    [[nodiscard]] QTreeView* tree() const { return m_tree; }
    [[nodiscard]] ExplorerModel* model() const { return m_model; }
    [[nodiscard]] bool isBusy() const;

Q_SIGNALS:
    /// A module was activated: show the parameters below it with this filter.
    void filterRequested(const QString& filter);
    void ready();

protected:
    void resizeEvent(QResizeEvent* event) override;
    void changeEvent(QEvent* event) override;

private:
    void fitSizes();
    void showFindings();
    void choose(const QModelIndex& at);
    void activate(const QModelIndex& at);
    void follow(const SelectedThing& thing);
    void rememberExpanded();
    void restoreExpanded();

    Selection& m_selection;
    QTreeView* m_tree;
    ExplorerModel* m_model;
    CheckpointPtr m_checkpoint;
    QStringList m_expanded;
    bool m_following = false;
    FindingMarker* m_findings = nullptr;
    LatestOnly m_builder{WorkLength::Short};
    LatestOnly m_marker{WorkLength::Short};
};

} // namespace shardscope::ui
