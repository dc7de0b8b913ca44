// SPDX-License-Identifier: Apache-2.0
#include "ui/shell/page_tab_bar.h"

#include <QHelpEvent>
#include <QStyleOptionTab>
#include <QToolTip>

#include <algorithm>
#include <iterator>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

namespace {

constexpr int kIconGap = 4; ///< between icon and title, as QTabBar has it
constexpr int kFewestLetters = 7; ///< of a title that is shortened, in average widths

/// In front, or with a number at its end that says how much there is to see.
bool keepsTitle(const QTabBar& bar, int tab)
{
    return tab == bar.currentIndex() || bar.tabText(tab).endsWith(u')');
}

} // namespace

// From the widest to the narrowest.
const PageTabBar::Form PageTabBar::kForms[] = {
    {.icons = true, .titles = true, .space = 24},
    {.icons = true, .titles = true, .space = 14},
    {.icons = false, .titles = true, .space = 24},
    {.icons = false, .titles = true, .space = 14},
    {.icons = false, .titles = true, .space = 12, .shortens = true},
    {.icons = true, .titles = false, .space = 16},
    {.icons = true, .titles = false, .space = 10},
};

PageTabBar::PageTabBar(QWidget* parent)
    : QTabBar(parent)
{
    setObjectName(u"pageTabBar"_s);
    setElideMode(Qt::ElideNone);
    setUsesScrollButtons(true); // in windows that are narrower than nine icons
    // The tab in front leaves the others more room, or less: this lays them out again.
    connect(this, &QTabBar::currentChanged, this, [this] { setElideMode(Qt::ElideNone); });
}

const PageTabBar::Form& PageTabBar::form() const
{
    Choice now{.width = width(), .current = currentIndex(), .font = font(), .titles = {}};
    for (int tab = 0; tab < count(); ++tab)
        now.titles.append(tabText(tab));
    if (m_form == nullptr || now != m_chosenFor) {
        m_chosenFor = std::move(now);
        m_titleWidths.clear(); // once: shaping text is what takes time here
        for (const QString& title : m_chosenFor.titles)
            m_titleWidths.append(fontMetrics().size(Qt::TextShowMnemonic, title).width());
        m_form = std::find_if(
            std::begin(kForms), std::end(kForms) - 1, [this](const Form& form) { return fits(form); });
    }
    return *m_form;
}

bool PageTabBar::fits(const Form& form) const
{
    m_longest = m_titleWidths.isEmpty() ? 0 : *std::ranges::max_element(m_titleWidths);
    const int least = form.shortens ? kFewestLetters * fontMetrics().averageCharWidth() : m_longest;
    for (; m_longest >= least; --m_longest) {
        int sum = 0;
        for (int tab = 0; tab < count(); ++tab)
            sum += widthOf(tab, form);
        if (sum <= width())
            return true;
    }
    return false;
}

QString PageTabBar::shownTitle(int tab) const
{
    if (tab == currentIndex())
        return tabText(tab);
    return !form().titles ? QString()
        : !form().shortens || keepsTitle(*this, tab)
        ? tabText(tab)
        : fontMetrics().elidedText(tabText(tab), Qt::ElideRight, m_longest, Qt::TextShowMnemonic);
}

int PageTabBar::widthOf(int tab, const Form& form) const
{
    const bool isTitled = form.titles || tab == currentIndex();
    int title = isTitled ? m_titleWidths[tab] : 0;
    if (!keepsTitle(*this, tab))
        title = std::min(title, m_longest);
    const int icon = form.icons ? iconSize().width() + (isTitled ? kIconGap : 0) : 0;
    return title + icon + form.space;
}

QSize PageTabBar::tabSizeHint(int tab) const
{
    return {widthOf(tab, form()), QTabBar::tabSizeHint(tab).height()};
}

void PageTabBar::initStyleOption(QStyleOptionTab* option, int tab) const
{
    QTabBar::initStyleOption(option, tab);
    if (!form().icons)
        option->icon = {};
    option->text = shownTitle(tab);
}

bool PageTabBar::event(QEvent* event)
{
    if (event->type() == QEvent::ToolTip) {
        showTip(*static_cast<QHelpEvent*>(event));
        return true;
    }
    return QTabBar::event(event);
}

void PageTabBar::showTip(const QHelpEvent& event)
{
    const int tab = tabAt(event.pos());
    QStringList lines;
    if (tab >= 0 && shownTitle(tab) != tabText(tab))
        lines.append(tabText(tab));
    if (tab >= 0 && !tabToolTip(tab).isEmpty())
        lines.append(tabToolTip(tab));
    QToolTip::showText(event.globalPos(), lines.join(u'\n'), this);
}

} // namespace shardscope::ui
