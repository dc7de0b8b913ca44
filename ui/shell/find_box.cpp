// SPDX-License-Identifier: Apache-2.0
#include "ui/shell/find_box.h"

#include "ui/controls/find_panel.h"
#include "ui/shell/page_filter.h"
#include "ui/widgets/filter_field.h"

#include <QAction>
#include <QKeyEvent>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

FindBox::FindBox(PageFilter& filter, PageTabs& tabs, Session& session, const Actions& actions, Theme& theme)
    : QObject(&filter)
    , m_filter(filter)
    , m_field(*filter.field())
    , m_tabs(tabs)
    , m_session(session)
    , m_actions(actions)
    , m_theme(theme)
{
    m_field.installEventFilter(this);
    connect(&m_field, &QLineEdit::textEdited, this, [this] {
        m_open = true;
        find();
    });
    connect(&session, &Session::checkpointChanged, this, [this] {
        if (m_open)
            find(); // ids of the former checkpoint
    });
}

bool FindBox::isOpen() const
{
    return m_open;
}

void FindBox::open(bool commands)
{
    m_field.setFocus(Qt::ShortcutFocusReason);
    if (!m_open)
        m_before = m_field.text();
    if (commands) {
        m_field.setText(u">"_s);
    } else {
        if (m_field.text().startsWith(u'>'))
            restore();
        m_field.selectAll();
    }
    m_open = true;
    find();
}

void FindBox::showFilter(const QString& text)
{
    const ParameterIndexPtr index = m_tabs.page(PageId::Parameters)->parameters();
    if (m_open && m_lacksNames && index && index->checkpoint() == m_session.checkpoint())
        return find();
    if (m_panel != nullptr)
        m_panel->showFilter(looksLikePlace(m_field.text()) ? QString() : text);
}

void FindBox::find()
{
    if (m_panel == nullptr) { // the field is in its window by now
        m_panel = new FindPanel(m_theme, &m_field);
        connect(m_panel, &FindPanel::chosen, this, &FindBox::choose);
        connect(m_panel, &FindPanel::filterChosen, this, &FindBox::keepFilter);
    }
    m_chooseWhenFound = false;
    FindQuery query;
    query.typed = m_field.text();
    query.checkpoint = m_session.checkpoint();
    query.index = query.checkpoint ? m_tabs.page(PageId::Parameters)->parameters() : nullptr;
    if (query.index && query.index->checkpoint() != query.checkpoint)
        query.index = nullptr; // of the former one
    m_lacksNames = query.checkpoint && !query.index;
    query.selected = m_session.selection().current();
    m_found = query.checkpoint;
    m_commands.clear();
    for (QAction* action : m_actions.offered()) {
        m_commands.append(action);
        query.commands.push_back({action->text().remove(u'&').remove(u"…"_s),
            action->shortcut().toString(QKeySequence::NativeText)});
    }
    if (query.checkpoint) {
        query.terms = m_filter.terms();
        query.saved = m_field.saved();
    }
    m_filter.tellCount();
    m_runner.run<FindList>(
        [query = std::move(query)](const std::stop_token& token,
            const std::function<void(FindList)>& deliver) { deliver(ui::find(query, token)); },
        [this](const FindList& found) { show(found); });
}

void FindBox::show(const FindList& found)
{
    if (!m_open)
        return;
    m_panel->show(found, m_field.text());
    if (std::exchange(m_chooseWhenFound, false))
        choose();
}

void FindBox::choose()
{
    const FindHit* hit = m_panel->current();
    if (hit != nullptr && m_found == m_session.checkpoint())
        go(FindHit(*hit));
    else if (hit == nullptr && !looksLikePlace(m_field.text()) && !m_field.text().trimmed().isEmpty())
        keepFilter();
}

void FindBox::go(const FindHit& hit)
{
    switch (hit.group) {
    case FindGroup::Terms:
        m_field.setText(hit.typed);
        return find();
    case FindGroup::Saved:
        m_field.setText(hit.typed);
        return keepFilter();
    case FindGroup::Commands: {
        const QPointer<QAction> action = m_commands.value(hit.command);
        restore();
        close();
        m_tabs.current()->setFocus(Qt::OtherFocusReason);
        if (action && action->isEnabled())
            action->trigger();
        return;
    }
    default:
        break;
    }
    restore();
    close();
    goTo(hit);
}

void FindBox::goTo(const FindHit& hit)
{
    const SelectedThing& thing = hit.thing;
    m_session.selection().select(thing);
    const PageId now = m_tabs.currentId();
    const bool isParam = thing.param != kNoParam;
    if (hit.page) {
        m_tabs.showPage(*hit.page);
    } else if (isParam && thing.element) {
        if (now != PageId::Map && now != PageId::Tensor)
            m_tabs.showPage(PageId::Tensor);
    } else if (isParam && !thing.block) {
        if (now != PageId::Map && now != PageId::Tensor && now != PageId::Parameters)
            m_tabs.showPage(PageId::Parameters);
    } else if (thing.file != kNoFile && !thing.rank) {
        m_tabs.showPage(PageId::Files);
    } else {
        m_tabs.showPage(PageId::Map);
    }
    m_tabs.current()->setFocus(Qt::ShortcutFocusReason);
}

void FindBox::keepFilter()
{
    if (m_field.text().startsWith(u'>'))
        return;
    m_before = m_field.text();
    m_open = false;
    m_panel->hide();
    m_filter.applyText();
    m_filter.showFiltered();
}

void FindBox::restore()
{
    m_field.setText(m_before);
}

void FindBox::close()
{
    m_open = false;
    m_runner.cancel();
    if (m_panel != nullptr)
        m_panel->hide();
    if (looksLikePlace(m_field.text()))
        restore();
    m_before = m_field.text(); // what is left is the filter
}

bool FindBox::eventFilter(QObject* watched, QEvent* event)
{
    switch (event->type()) {
    case QEvent::FocusIn:
        if (!m_open)
            m_before = m_field.text();
        break;
    case QEvent::FocusOut:
        if (static_cast<QFocusEvent*>(event)->reason() == Qt::PopupFocusReason)
            break; // its menu
        close();
        m_filter.applyText();
        break;
    case QEvent::KeyPress:
        if (onKey(static_cast<QKeyEvent*>(event)))
            return true;
        break;
    default:
        break;
    }
    return QObject::eventFilter(watched, event);
}

bool FindBox::onKey(QKeyEvent* key)
{
    const bool isShift = key->modifiers().testFlag(Qt::ShiftModifier);
    switch (key->key()) {
    case Qt::Key_Return:
    case Qt::Key_Enter:
        if (!m_open)
            return false;
        if (isShift)
            keepFilter();
        else if (m_runner.isRunning())
            m_chooseWhenFound = true;
        else
            choose();
        return true;
    case Qt::Key_Up:
    case Qt::Key_Down:
    case Qt::Key_PageUp:
    case Qt::Key_PageDown:
        if (key->modifiers().testFlag(Qt::AltModifier))
            return false;
        if (m_open) {
            m_panel->move(key->key());
        } else if (key->key() == Qt::Key_Down) {
            m_open = true;
            find();
        } else {
            return false;
        }
        return true;
    case Qt::Key_Tab: {
        const FindHit* term = m_open && m_panel != nullptr ? m_panel->first(FindGroup::Terms) : nullptr;
        if (term != nullptr)
            go(FindHit(*term));
        return term != nullptr;
    }
    case Qt::Key_Escape:
        if (!m_open)
            return false;
        close();
        return true;
    default:
        return false;
    }
}

} // namespace shardscope::ui
