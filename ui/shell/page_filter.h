// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/shell/page_tabs.h"

#include <map>

class QLabel;

namespace shardscope::ui {

class FilterField;
class Settings;

/// What the filter field filters: the page in front, or the parameters if that has no filter. Each page keeps
/// its filter while others are in front.
class PageFilter : public QObject
{
    Q_OBJECT
public:
    PageFilter(PageTabs& tabs, Theme& theme, Settings& settings, QWidget* parent);

    [[nodiscard]] FilterField* field() const { return m_field; }
    [[nodiscard]] QLabel* count() const { return m_count; }
    /// Of the parameters.
    [[nodiscard]] QString text() const { return text(PageId::Parameters); }
    /// Shows a filter that text() returned, if the parameters are filtered now.
    void setText(const QString& text);
    /// Filters the parameters, whatever is in front.
    void filterParameters(const QString& text);
    /// Removes the last term; false if there is none.
    bool removeTerm();
    void clear();

private:
    [[nodiscard]] QString text(PageId page) const;
    [[nodiscard]] PageId filtered() const;
    void onPageChanged();
    void onTyped(const QString& text);
    void onFiltered(qulonglong shown, qulonglong total, const QString& problem);

    PageTabs& m_tabs;
    FilterField* m_field;
    QLabel* m_count;
    std::map<PageId, QString> m_texts;
    bool m_changing = false;
};

} // namespace shardscope::ui
