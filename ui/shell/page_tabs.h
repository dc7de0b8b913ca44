// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/jobs/one_an_event.h"
#include "ui/pages/page.h"

#include <QSet>
#include <QTabWidget>

namespace shardscope::ui {

/// The pages of the window, a tab each, connected with each other.
class PageTabs : public QTabWidget
{
    Q_OBJECT
public:
    /// Has no pages until addPages().
    PageTabs(const PageContext& context, QWidget* parent);
    /// Makes all pages. Once, where the tabs are at their place: another parent would be told to every widget
    /// of every page.
    void addPages(const PageContext& context);

    [[nodiscard]] const QList<Page*>& pages() const { return m_pages; }
    [[nodiscard]] Page* page(PageId id) const { return m_pages[static_cast<qsizetype>(id)]; }
    /// The same; it shows what the session shows.
    Page* filled(PageId id);
    [[nodiscard]] PageId currentId() const { return static_cast<PageId>(currentIndex()); }
    [[nodiscard]] Page* current() const { return page(currentId()); }
    void showPage(PageId id) { setCurrentIndex(static_cast<int>(id)); }
    /// The session shows something else. Pages that are not seen have no checkpoint until they are filled:
    /// when they are shown, or after showSession() in events of their own.
    void leaveSession();
    /// After leaveSession(). Returns whether the checkpoint is of another run than the former one.
    bool showSession(const Session& session);
    [[nodiscard]] bool isFilling() const { return m_filling.isActive(); }
    /// The parameters that the filter found; null: no active filter.
    [[nodiscard]] const ParamMarks& lit() const { return m_lit; }

private:
    void add(const PageEntry& entry, const PageContext& context);
    void fill(Page* page);
    void markDifferences(Page* page) const;

    const CompareRun& m_compareRun;
    QList<Page*> m_pages; ///< by id
    QSet<Page*> m_behind; ///< they have no checkpoint
    OneAnEvent m_filling;
    ParamMarks m_lit;
    io::Path m_run; ///< folder of the run on screen
};

} // namespace shardscope::ui
