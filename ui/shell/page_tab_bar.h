// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QFont>
#include <QStringList>
#include <QTabBar>

class QHelpEvent;

namespace shardscope::ui {

/// The tabs of the pages. All of them stay in sight: the narrower the bar, the less each shows, at last its
/// icon alone, except the tab in front, with the title as tool tip.
class PageTabBar : public QTabBar
{
    Q_OBJECT
    /// For the style: space beside the content of a tab, left and right together.
    Q_PROPERTY(int tabSpace READ tabSpace)
public:
    explicit PageTabBar(QWidget* parent);

    [[nodiscard]] int tabSpace() const { return form().space; }
    /// Whether the title of a tab is written on it.
    [[nodiscard]] bool showsTitle(int tab) const;

protected:
    [[nodiscard]] QSize tabSizeHint(int tab) const override;
    void initStyleOption(QStyleOptionTab* option, int tab) const override;
    bool event(QEvent* event) override;

private:
    struct Form {
        bool icons = true;
        bool titles = true; ///< of all tabs; else only of the one in front
        int space = 0;
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
    [[nodiscard]] int widthOf(int tab, const Form& form) const;
    void showTip(const QHelpEvent& event);

    static const Form kForms[];
    mutable Choice m_chosenFor;
    mutable const Form* m_form = nullptr;
};

} // namespace shardscope::ui
