// SPDX-License-Identifier: Apache-2.0
#pragma once

// Room ui/pages: one class for each page or panel of the main window. It uses
// ui/{tensorview,layoutmap,controls,models,jobs,widgets} and lower rooms; only ui/shell includes it, which
// connects the pages. Start with OverviewPage.

#include "core/checkpoint/model/checkpoint.h"
#include "ui/style/theme.h"

#include <QWidget>

class QLabel;
class QListWidget;
class QScrollArea;

namespace shardscope::ui {

class Card;
class FindingStore;
class FindingsList;
class MessageBar;

/// A summary of the checkpoint: identity, sizes, parameters, steps, groups, tags, findings.
class OverviewPage : public QWidget
{
    Q_OBJECT
public:
    explicit OverviewPage(Theme& theme, QWidget* parent = nullptr);

    void setCheckpoint(const CheckpointPtr& checkpoint);
    /// Shows the findings of the checkpoint. `store` outlives the page.
    void followFindings(const FindingStore& store);
    [[nodiscard]] MessageBar* messageBar() const { return m_messages; }

Q_SIGNALS:
    void tagRequested(const QString& tag);
    void placeRequested(const QString& where);

private:
    void fillTags(const Checkpoint& checkpoint);
    void summarise(const std::vector<Finding>& found);
    void showFindings();

    Theme& m_theme;
    CheckpointPtr m_checkpoint;
    const FindingStore* m_store = nullptr;
    MessageBar* m_messages;
    QScrollArea* m_scroll;
    Card* m_identity;
    Card* m_sizes;
    Card* m_states;
    Card* m_parameters;
    Card* m_steps;
    Card* m_groups;
    Card* m_tags;
    Card* m_findings;
    Card* m_evidence;
    QListWidget* m_tagList;
    FindingsList* m_findingsList;
    QLabel* m_empty;
};

} // namespace shardscope::ui
