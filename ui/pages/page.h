// SPDX-License-Identifier: Apache-2.0
#pragma once

// Folder ui/pages: one class for each page or panel of the main window; ui/shell connects them. Start with
// Page and pageList().

#include "ui/models/find/filter_text.h"
#include "ui/models/param_marks.h"
#include "ui/models/parameters/parameter_index.h"
#include "ui/models/selection.h"
#include "ui/session/compare_run.h"
#include "ui/session/findings/finding_store.h"
#include "ui/session/session.h"
#include "ui/style/settings.h"
#include "ui/style/theme.h"

#include <QIcon>
#include <QKeySequence>
#include <QWidget>

#include <memory>
#include <optional>

class QLabel;

namespace shardscope {
struct WritePlan;
}

namespace shardscope::ui {

class FilterBar;

/// What pages are made with. All outlive them.
struct PageContext {
    Session& session;
    Selection& selection; ///< the session's, or that of a window of its own
    CompareRun& compareRun;
    FindingStore& findings;
    Settings& settings;
    Theme& theme;
};

struct PageAction;

/// A page of the window: shows the session's checkpoint in a tab, or in a window of its own.
class Page : public QWidget
{
    Q_OBJECT
public:
    Page(const PageContext& context, QWidget* parent);

    /// Shows the checkpoint of the session; nothing if none is open.
    void showSession();
    /// Has no checkpoint until showSession(). For a page that is not seen and that the session left behind.
    void leaveSession();
    /// Whether the window needs what it finds in the checkpoint also while it is not seen.
    [[nodiscard]] virtual bool servesOthers() const { return false; }
    /// Whether it reads, filters or draws in the background.
    [[nodiscard]] virtual bool isBusy() const { return false; }
    /// The placeholder of the filter field if the page has a filter of its own. Else empty: the field then
    /// filters the parameters.
    [[nodiscard]] virtual QString filterHint() const { return {}; }
    /// Filters the rows; FilterText has the syntax, filterTerms() the page's terms. Only with a filterHint().
    virtual void setFilter(const QString& /*text*/) { }
    [[nodiscard]] virtual std::vector<FilterTerm> filterTerms() const { return {}; }
    /// Shows the filter in the page's bar, if it has one: its own, or else that of the parameters.
    void showFilter(const FilterView& view);
    /// Highlights the parameters that the filter found; null: none is.
    virtual void setLit(const ParamMarks& /*matches*/) { }
    /// Marks what differs from the other checkpoint of the comparison; null: there is none.
    virtual void setDifferences(const DifferenceMarksPtr& /*differences*/) { }
    /// Sets the other checkpoint of a comparison; `start`: and compares.
    virtual void compareWith(const QString& /*path*/, bool /*start*/) { }
    /// Checks the checkpoint if that was not done yet, and ticks the fixes of all its errors.
    virtual void prepareRepair() { }
    /// The names of the parameters; null while they are being read, or if the page has none.
    [[nodiscard]] virtual ParameterIndexPtr parameters() const { return nullptr; }
    /// Whether one of the actions of its entry can be done on this checkpoint, which is open.
    [[nodiscard]] virtual bool canRun(const PageAction& /*action*/) const { return true; }
    /// How its tab looks now.
    struct Tab {
        QString title;
        QString tip;
        QIcon icon;
    };
    [[nodiscard]] virtual Tab tab() const { return {}; }

Q_SIGNALS:
    void tagRequested(const QByteArray& tag);
    /// The folder of a run, or of a tag, shall be opened. `isOfRun`: it is a tag of the run that is open.
    void openRequested(const QByteArray& folder, bool isOfRun);
    /// The open checkpoint shall be compared with the one in this folder.
    void compareRequested(const QString& folder);
    /// The reshard dialog for the checkpoint in this folder, which is opened before.
    void reshardRequested(const QByteArray& folder);
    void placeRequested(const shardscope::Place& where);
    /// The values of this parameter shall be shown.
    void parameterActivated(shardscope::ParamId param);
    /// Run this plan into this run folder.
    void repairRequested(const std::shared_ptr<const shardscope::WritePlan>& plan, const QString& folder);
    /// Write the source of the repaired copy on screen again, into this run folder.
    void undoRequested(const QString& folder);
    /// Show the findings, with the fixes of all errors ticked.
    void repairWanted();
    /// Do what the window's action of this object name does.
    void actionRequested(const QString& name);
    /// A message for the window.
    void told(shardscope::Severity severity, const QString& text);
    /// The page's own filter was applied, or cannot be.
    void filtered(const shardscope::ui::FilterView& view);
    /// Parameters found by the filter, for other views to highlight; null: no active filter.
    void matchesChanged(const shardscope::ui::ParamMarks& matches);
    /// A part of the filter was removed; this is what remains.
    void filterWanted(const QString& text);
    /// Show this page, filtered so.
    void filteredPageRequested(shardscope::ui::PageId page, const QString& filter);
    /// canRun() may say something else.
    void actionsChanged();
    /// tab() may say something else.
    void tabChanged();

protected:
    /// m_checkpoint is another one.
    virtual void showCheckpoint() = 0;
    /// m_checkpoint is null until showCheckpoint(), and the page is not seen: nothing may refer to the former
    /// one.
    virtual void leaveCheckpoint() { showCheckpoint(); }
    /// The selection of the session or window is this.
    virtual void follow(const SelectedThing& /*thing*/) { }
    /// A text in place of what the page shows, when there is nothing to show.
    QLabel* makeEmpty(const QString& name);
    /// The bar with the terms of the filter, for the page to put above its rows. At most one.
    FilterBar* makeFilterBar();
    /// Shows the page's own filter in its bar and tells the window.
    void tellFilter(const FilterView& view);

    FilterBar* m_filterBar = nullptr;
    const PageContext m_context;
    CheckpointPtr m_checkpoint; ///< that is shown
    CheckPlace m_place; ///< where it was opened
};

/// An entry that a page has in the window's menus and in the command palette.
struct PageAction {
    enum class Menu : uint8_t { File, Go, Checkpoint };

    Menu menu = Menu::File;
    QString name; ///< object name
    QString text; ///< with a mnemonic
    QList<QKeySequence> keys;
    QString icon;
    bool comesToFront = true; ///< the page, before it is done
    void (*run)(Page& page) = nullptr;
};

/// A page of this type, as PageEntry::make.
template <class P>
Page* makePage(const PageContext& context, QWidget* parent)
{
    return new P(context, parent);
}

/// How a page is registered. Its tab, its actions and its window follow from this.
struct PageEntry {
    PageId id = PageId::Overview;
    QString name; ///< for --page and settings
    QString actionName; ///< object name of its action
    QString title; ///< of tab and window
    QString menuText; ///< with a mnemonic
    QString icon;
    QString topic; ///< its page of the manual (core/report/documents/manual.h)
    Page* (*make)(const PageContext& context, QWidget* parent) = nullptr;
    QList<PageAction> actions = {};
};

/// All pages in the order of their ids. To add a page, add its id and its entry() to page_list.cpp.
[[nodiscard]] const QList<PageEntry>& pageList();
[[nodiscard]] const PageEntry& pageEntry(PageId id);
/// Empty if no page has this name.
[[nodiscard]] std::optional<PageId> pageNamed(const QString& name);

} // namespace shardscope::ui
