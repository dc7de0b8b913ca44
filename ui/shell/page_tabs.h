// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/pages/page.h"

#include <QTabWidget>

namespace shardscope::ui {

/// The pages of the window, a tab each, connected with each other.
class PageTabs : public QTabWidget
{
    Q_OBJECT
public:
    PageTabs(const PageContext& context, QWidget* parent);

    [[nodiscard]] const QList<Page*>& pages() const { return m_pages; }
    [[nodiscard]] Page* page(PageId id) const { return m_pages[static_cast<qsizetype>(id)]; }
    [[nodiscard]] PageId currentId() const { return static_cast<PageId>(currentIndex()); }
    [[nodiscard]] Page* current() const { return page(currentId()); }
    void showPage(PageId id) { setCurrentIndex(static_cast<int>(id)); }
    /// Returns whether the checkpoint is of another run than the former one.
    bool showSession(const Session& session);
    /// The parameters that the filter found; null: no active filter.
    [[nodiscard]] const ParamMarks& lit() const { return m_lit; }

private:
    void add(const PageEntry& entry, const PageContext& context);

    QList<Page*> m_pages; ///< by id
    ParamMarks m_lit;
    io::Path m_run; ///< folder of the run on screen
};

} // namespace shardscope::ui
