// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QFont>
#include <QStringList>
#include <QTabBar>

class QHelpEvent;

namespace shardscope::ui {

/// The tabs of the pages. All of them stay in sight: the narrower the bar, the less each shows: no icon, the
/// first letters of long titles, at last its icon alone. The tab in front has its whole title; what another
/// one does not show of its title is its tool tip.
class PageTabBar : public QTabBar
{
    Q_OBJECT
    /// For the style: space beside the content of a tab, left and right together.
    Q_PROPERTY(int tabSpace READ tabSpace)
public:
    explicit PageTabBar(QWidget* parent);

    [[nodiscard]] int tabSpace() const { return form().space; }
    /// What is written on a tab: its title, the first letters of it, or nothing.
    [[nodiscard]] QString shownTitle(int tab) const;

protected:
    [[nodiscard]] QSize tabSizeHint(int tab) const override;
    void initStyleOption(QStyleOptionTab* option, int tab) const override;
    bool event(QEvent* event) override;

private:
    struct Form {
        bool icons = true;
        bool titles = true; ///< of all tabs; else only of the one in front
        int space = 0;
        bool shortens = false; ///< titles that are longer than m_longest
    };
    /// What a form was chosen for.
    struct Choice {
        int width = -1;
        int current = -1;
        QFont font;
        QStringList titles;
        bool operator==(const Choice&) const = default;
    };

    [[nodiscard]] const Form& form() const;
    /// Whether all tabs have room in this form, at the largest m_longest that is possible.
    [[nodiscard]] bool fits(const Form& form) const;
    [[nodiscard]] int widthOf(int tab, const Form& form) const;
    void showTip(const QHelpEvent& event);

    static const Form kForms[];
    mutable Choice m_chosenFor;
    mutable QList<int> m_titleWidths; ///< of its titles, in pixels
    mutable const Form* m_form = nullptr;
    mutable int m_longest = 0; ///< width of a title that is not in front, in pixels
};

} // namespace shardscope::ui
