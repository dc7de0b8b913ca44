// SPDX-License-Identifier: Apache-2.0
#pragma once

// Folder ui/pages: one class for each page or panel of the main window; ui/shell connects them. Start with
// Page and pageList().

#include "ui/models/param_marks.h"
#include "ui/models/selection.h"
#include "ui/session/compare_run.h"
#include "ui/session/findings/finding_store.h"
#include "ui/session/session.h"
#include "ui/style/settings.h"
#include "ui/style/theme.h"

#include <QWidget>

#include <memory>
#include <span>

namespace shardscope {
struct WritePlan;
}

namespace shardscope::ui {

/// What pages are made with. All outlive them.
struct PageContext {
    Session& session;
    Selection& selection; ///< the session's, or that of a window of its own
    CompareRun& compareRun;
    FindingStore& findings;
    Settings& settings;
    Theme& theme;
};

/// A page of the window: shows the session's checkpoint in a tab, or in a window of its own.
class Page : public QWidget
{
    Q_OBJECT
public:
    using QWidget::QWidget;

    /// Shows the checkpoint of the session; nothing if none is open.
    virtual void showSession(const Session& session) = 0;
    /// Whether it reads, filters or draws in the background.
    [[nodiscard]] virtual bool isBusy() const { return false; }
    /// The placeholder of the filter field if the page has a filter of its own. Else empty: the field then
    /// filters the parameters.
    [[nodiscard]] virtual QString filterHint() const { return {}; }
    /// Every word must occur; the syntax is the page's. Only with a filterHint().
    virtual void setFilter(const QString& /*text*/) { }

Q_SIGNALS:
    void tagRequested(const QString& tag);
    void placeRequested(const shardscope::Place& where);
    /// The values of this parameter shall be shown.
    void parameterActivated(shardscope::ParamId param);
    /// Run this plan into this run folder.
    void repairRequested(const std::shared_ptr<const shardscope::WritePlan>& plan, const QString& folder);
    /// Write the source of the repaired copy on screen again, into this run folder.
    void undoRequested(const QString& folder);
    /// Show the findings, with the fixes of all errors ticked.
    void repairWanted();
    /// The rows on screen were written to a file; `problem`: why not, or empty.
    void saved(const QString& path, const QString& problem);
};

/// How a page is registered. Its tab, its action and its window follow from this.
struct PageEntry {
    QString name; ///< for --page; the page's object name is this with "Page" after it
    QString actionName; ///< object name of its action
    QString title; ///< of tab and window
    QString menuText; ///< with a mnemonic
    QString icon;
    QString topic; ///< its page of the manual (core/report/documents/manual.h)
    Page* (*make)(const PageContext& context, QWidget* parent) = nullptr;
};

/// All pages in the order of their tabs. To add a page, add its entry() to page_list.cpp.
[[nodiscard]] const QList<PageEntry>& pageList();

} // namespace shardscope::ui
