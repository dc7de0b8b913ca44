// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/models/find/finder.h"
#include "ui/style/theme.h"

#include <QFrame>

class QLabel;
class QListWidget;
class QToolButton;

namespace shardscope::ui {

/// What the find field has found, below it: a list with groups, and a last line that filters. A child of the
/// window, so that the field keeps the keyboard.
class FindPanel : public QFrame
{
    Q_OBJECT
public:
    /// Below `field`, in its window.
    FindPanel(Theme& theme, QWidget* field);

    /// Shows the hits; the first one is current.
    void show(const FindList& found, const QString& typed);
    /// The line that filters: what it filters and how much matches. Empty: no such line.
    void showFilter(const QString& text);
    /// Selects a neighbour; groups are passed over.
    void move(int key);
    /// The current hit; null if there is none.
    [[nodiscard]] const FindHit* current() const;
    /// The first one of a group; null if there is none.
    [[nodiscard]] const FindHit* first(FindGroup group) const;
    void place();

Q_SIGNALS:
    void chosen();
    void filterChosen();

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    void step(int by);

    QWidget* m_field;
    QListWidget* m_rows;
    QLabel* m_note;
    QToolButton* m_filter;
    std::vector<FindHit> m_hits;
};

} // namespace shardscope::ui
