// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/models/find/filter_text.h"
#include "ui/style/theme.h"

#include <QWidget>

class QLabel;
class QPushButton;

namespace shardscope::ui {

class FilterChips;

/// What filters the rows below it: a chip for every word, what matches, why it cannot be applied, and what is
/// being read for it. Takes no space while there is no filter.
class FilterBar : public QWidget
{
    Q_OBJECT
public:
    explicit FilterBar(Theme& theme, QWidget* parent = nullptr);

    void show(const FilterView& view);
    /// A line about what the filter reads, with a button for `action`; empty: none.
    void showWork(const QString& text, const QString& action);

Q_SIGNALS:
    /// The remaining filter after one word, or all of them, were removed.
    void filterWanted(const QString& text);
    /// The button of the line of work was pressed.
    void workTriggered();

private:
    void applyTheme();

    Theme& m_theme;
    FilterChips* m_chips;
    QLabel* m_count;
    QWidget* m_problemRow;
    QLabel* m_problemIcon;
    QLabel* m_problem;
    QWidget* m_workRow;
    QLabel* m_work;
    QPushButton* m_action;
};

} // namespace shardscope::ui
