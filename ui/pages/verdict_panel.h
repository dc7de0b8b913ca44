// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/session/compare_run.h"
#include "ui/style/theme.h"

#include <QFrame>

class QLabel;
class QProgressBar;
class QScrollArea;

namespace shardscope::ui {

/// The result of a comparison in words: verdict, causes, and what was compared; progress while it runs.
class VerdictPanel : public QFrame
{
    Q_OBJECT
public:
    explicit VerdictPanel(Theme& theme, QWidget* parent = nullptr);

    /// Shows the current state of the run.
    void show(const CompareRun& run);
    [[nodiscard]] QString headline() const;
    /// The height of the page that it is on: in a low one the causes have fewer lines before they scroll.
    void setPageHeight(int height);

protected:
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;

private:
    void showOutcome(const CompareOutcome& outcome, const QStringList& where);
    void applyTheme();
    void fit();

    Theme& m_theme;
    Severity m_severity = Severity::Info;
    bool m_good = false;
    int m_pageHeight = 0;
    QLabel* m_icon;
    QLabel* m_headline;
    QLabel* m_facts;
    QProgressBar* m_bar;
    QScrollArea* m_scroll; ///< many causes scroll: they must not push the table away
    QLabel* m_causes;
};

} // namespace shardscope::ui
