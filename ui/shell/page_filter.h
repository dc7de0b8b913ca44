// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/shell/page_tabs.h"

#include <map>

namespace shardscope::ui {

class Actions;
class FilterField;
class FindBox;

/// What the find field filters: the page in front, or the parameters if that has no filter. Each page keeps
/// its filter while others are in front.
class PageFilter : public QObject
{
    Q_OBJECT
public:
    PageFilter(PageTabs& tabs, const PageContext& context, const Actions& actions, QWidget* parent);

    [[nodiscard]] FilterField* field() const { return m_field; }
    [[nodiscard]] FindBox& find() const { return *m_find; }
    /// Of the parameters.
    [[nodiscard]] QString text() const { return text(PageId::Parameters); }
    /// Shows a filter that text() returned, if the parameters are filtered now.
    void setText(const QString& text);
    /// Filters the parameters, whatever is in front.
    void filterParameters(const QString& text);
    /// Filters by the whole text of the field, also by a term that looked unfinished while it was typed.
    void applyText();
    /// Shows the rows that are filtered, and puts the cursor there.
    void showFiltered();
    /// The terms of the page that is filtered.
    [[nodiscard]] std::vector<FilterTerm> terms() const;
    /// Passes what matches on to the list below the field.
    void tellCount();
    /// Removes the last term; false if there is none.
    bool removeTerm();
    void clear();

private:
    [[nodiscard]] QString text(PageId page) const;
    [[nodiscard]] PageId filtered() const;
    void onPageChanged();
    void onTyped(const QString& text);
    void onFiltered(PageId page, const FilterView& view);
    void onFilterWanted(PageId page, const QString& text);
    void apply(PageId page, const QString& text);

    PageTabs& m_tabs;
    FilterField* m_field;
    FindBox* m_find;
    std::map<PageId, QString> m_texts;
    std::map<PageId, FilterView> m_views; ///< what the pages show
    bool m_changing = false;
};

} // namespace shardscope::ui
