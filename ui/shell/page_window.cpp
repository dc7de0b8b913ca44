// SPDX-License-Identifier: Apache-2.0
#include "ui/shell/page_window.h"

#include "ui/style/icons.h"
#include "ui/text/text.h"
#include "ui/widgets/focus_ring.h"

#include <QAction>
#include <QHBoxLayout>
#include <QToolButton>
#include <QVBoxLayout>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

PageWindow::PageWindow(Session& session, Theme& theme, QWidget* parent)
    : QWidget(parent, Qt::Window)
    , m_session(session)
    , m_rows(new QVBoxLayout(this))
    , m_pin(new QToolButton(this))
{
    setObjectName(u"pageWindow"_s);
    setAttribute(Qt::WA_DeleteOnClose);
    resize(980, 680);
    m_pin->setObjectName(u"pageWindowPin"_s);
    m_pin->setCheckable(true);
    m_pin->setAutoRaise(true);
    m_pin->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
    m_pin->setIcon(themedIcon(theme, u"pin"_s));
    m_pin->setText(tr("&Pin"));
    m_pin->setToolTip(tr("Keep this window's selection while other windows change theirs (Ctrl+Shift+K)"));
    m_pin->setShortcut(Qt::CTRL | Qt::SHIFT | Qt::Key_K);
    auto* close = new QAction(this);
    close->setShortcut(QKeySequence(Qt::CTRL | Qt::Key_W));
    connect(close, &QAction::triggered, this, &QWidget::close);
    addAction(close);
    auto* head = new QHBoxLayout;
    head->setContentsMargins(8, 4, 8, 4);
    head->addStretch(1);
    head->addWidget(m_pin);
    m_rows->setContentsMargins(0, 0, 0, 0);
    m_rows->setSpacing(0);
    m_rows->addLayout(head);
    new FocusRing(theme, this);

    // Two selections, a shared one while unpinned; each reports only its own changes.
    Selection& shared = session.selection();
    connect(&shared, &Selection::changed, this, [this](const SelectedThing& thing) {
        if (!isPinned())
            m_selection.select(thing);
    });
    connect(&m_selection, &Selection::changed, this, [this](const SelectedThing& thing) {
        if (!isPinned() && m_session.checkpoint() == m_checkpoint)
            m_session.selection().select(thing);
    });
    connect(&m_selection, &Selection::pageRequested, &shared, &Selection::pageRequested);
    connect(&m_selection, &Selection::hoverTextChanged, &shared, &Selection::setHoverText);
    connect(&m_selection, &Selection::sumTextChanged, &shared, &Selection::setSumText);
    connect(&session, &Session::checkpointChanged, this, &PageWindow::showCheckpoint);
    connect(m_pin, &QToolButton::toggled, this, [this](bool pinned) {
        if (!pinned)
            m_selection.select(m_session.selection().current());
    });
}

void PageWindow::setPage(Page* page, const PageEntry& entry)
{
    m_page = page;
    m_title = entry.title;
    m_name = entry.name;
    m_rows->addWidget(page, 1);
    showCheckpoint(m_session.checkpoint(), false);
    m_selection.select(m_session.selection().current());
    page->setFocus(Qt::ShortcutFocusReason);
}

bool PageWindow::isPinned() const
{
    return m_pin->isChecked();
}

void PageWindow::setPinned(bool pinned)
{
    m_pin->setChecked(pinned);
}

void PageWindow::showCheckpoint(const CheckpointPtr& checkpoint, bool refined)
{
    const CheckpointPtr former = std::exchange(m_checkpoint, nullptr);
    SelectedThing kept;
    if (isPinned() && refined && former && checkpoint)
        kept = translated(m_selection.current(), *former, *checkpoint);
    else
        setPinned(false);
    // As in the session: the page drops its old ids before it receives the new snapshot.
    m_selection.clear();
    m_page->showSession();
    m_checkpoint = checkpoint;
    m_selection.select(std::move(kept));
    setWindowTitle(checkpoint && !checkpoint->tag.empty()
            ? tr("%1 – %2 – Shardscope").arg(m_title, toText(checkpoint->tag))
            : tr("%1 – Shardscope").arg(m_title));
}

} // namespace shardscope::ui
