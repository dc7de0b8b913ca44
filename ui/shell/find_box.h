// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/jobs/latest_only.h"
#include "ui/models/find/finder.h"
#include "ui/shell/actions.h"

#include <QPointer>

namespace shardscope::ui {

class FilterField;
class FindPanel;
class PageFilter;
class PageTabs;

/// The find field at work: what is typed is found on a worker and listed below the field, where Enter goes to
/// it. What is no place is the filter of the page, too: Shift+Enter keeps it, Enter takes it back.
class FindBox : public QObject
{
    Q_OBJECT
public:
    FindBox(PageFilter& filter, PageTabs& tabs, Session& session, const Actions& actions, Theme& theme);

    /// Puts the cursor into the field and lists what there is. `commands`: only commands.
    void open(bool commands);
    [[nodiscard]] bool isOpen() const;
    [[nodiscard]] bool isBusy() const { return m_runner.isRunning(); }
    /// The filter as it was before something was typed.
    [[nodiscard]] const QString& before() const { return m_before; }
    /// The matches of the filter, for the line that filters.
    void showFilter(const QString& text);

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    bool onKey(QKeyEvent* key);
    void find();
    void show(const FindList& found);
    void choose();
    void go(const FindHit& hit);
    void goTo(const FindHit& hit);
    void keepFilter();
    /// Closes the list. A text that is no filter goes, and the former one comes back.
    void close();
    void restore();

    PageFilter& m_filter;
    FilterField& m_field;
    PageTabs& m_tabs;
    Session& m_session;
    const Actions& m_actions;
    FindPanel* m_panel = nullptr;
    Theme& m_theme;
    CheckpointPtr m_found; ///< whose ids the hits have
    QList<QPointer<QAction>> m_commands; ///< that the hits are of
    QString m_before; ///< the filter when the cursor came into the field
    bool m_open = false;
    bool m_lacksNames = false; ///< of parameters, which are still being read
    bool m_chooseWhenFound = false; ///< Enter was pressed before the results arrived
    LatestOnly m_runner{WorkLength::Short};
};

} // namespace shardscope::ui
