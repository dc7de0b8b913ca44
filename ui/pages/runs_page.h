// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/controls/file_saver.h"
#include "ui/pages/page.h"

class QLabel;
class QStackedWidget;
class QToolButton;

namespace shardscope::ui {

class ElidedLabel;
class RunListView;
class TagHistory;

/// The tags of the open run over time, or the runs of a folder that was opened.
class RunsPage : public Page
{
    Q_OBJECT
public:
    [[nodiscard]] static PageEntry entry();
    RunsPage(const PageContext& context, QWidget* parent);

    [[nodiscard]] bool isBusy() const override;
    [[nodiscard]] QString filterHint() const override;
    void setFilter(const QString& text) override;

protected:
    void showCheckpoint() override;

private:
    void showRuns();
    void showTags();
    void showHead();
    void readAgain();
    void askWhereToSave();
    /// The rows that are shown; *.json as the answer of `shardscope tags --json`, all else as CSV.
    void saveRows(const QString& path);
    [[nodiscard]] bool showsRuns() const;

    QToolButton* m_other;
    ElidedLabel* m_title;
    QToolButton* m_again;
    QStackedWidget* m_stack;
    RunListView* m_runs;
    TagHistory* m_tags;
    QLabel* m_empty;
    QString m_filter;
    FileSaver m_saver{[this](Severity severity, const QString& text) { Q_EMIT told(severity, text); }};
};

} // namespace shardscope::ui
