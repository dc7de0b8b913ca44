// SPDX-License-Identifier: Apache-2.0
#include "ui/pages/start_page.h"

#include "core/far/far_path.h"
#include "ui/style/icons.h"
#include "ui/text/text.h"
#include "ui/widgets/actions_menu.h"
#include "ui/widgets/elided_label.h"
#include "ui/widgets/message_bar.h"

#include <QAction>
#include <QFileInfo>
#include <QLabel>
#include <QListWidget>
#include <QPainter>
#include <QPushButton>
#include <QVBoxLayout>

#include <algorithm>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

namespace {

constexpr int kColumnWidth = 620;

QString secondLine(const RecentEntry& entry)
{
    QStringList facts{entry.title, openedWithText(entry)};
    facts.removeAll(QString());
    if (entry.bytes > 0)
        facts.append(bytesText(entry.bytes));
    if (entry.tags > 1)
        facts.append(StartPage::tr("%1 tags").arg(entry.tags));
    if (entry.when.isValid())
        facts.append(StartPage::tr("opened %1").arg(QLocale().toString(entry.when, QLocale::ShortFormat)));
    return facts.join(u" · "_s);
}

} // namespace

QString openedText(const OpenedEntry& entry)
{
    const QString text = entry.tag.isEmpty() ? entry.path : QString(entry.path % u"  ·  "_s % entry.tag);
    return toText(text.toStdString());
}

QString openedWithText(const OpenedEntry& entry)
{
    QStringList with;
    const QString first
        = entry.roots.isEmpty() ? QString() : pathText(toPath(entry.roots.first()).filename());
    if (entry.salvage)
        with.append(StartPage::tr("with swap folder %1").arg(first));
    const qsizetype folders = entry.roots.size() - (entry.salvage ? 1 : 0);
    if (folders == 1 && !entry.salvage)
        with.append(StartPage::tr("with folder %1").arg(first));
    else if (folders > 0)
        with.append(StartPage::tr("with %1 further folders").arg(folders));
    if (const auto kind = kindNamed(entry.kind.toStdString()))
        with.append(StartPage::tr("as %1").arg(kindText(*kind)));
    return with.join(u" · "_s);
}

StartPage::StartPage(Theme& theme, Settings& settings, QWidget* parent)
    : QWidget(parent)
    , m_theme(theme)
    , m_settings(settings)
    , m_messages(new MessageBar(theme, this))
    , m_dropArea(new QWidget(this))
    , m_hint(new ElidedLabel(this))
    , m_open(new QPushButton(themedIcon(theme, u"open"_s), tr("Open a Checkpoint…"), this))
    , m_recentTitle(new QLabel(tr("Recent"), this))
    , m_recent(new QListWidget(this))
{
    setObjectName(u"startPage"_s);
    m_dropArea->setObjectName(u"dropArea"_s);
    m_dropArea->setMinimumHeight(200);
    m_dropArea->setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Fixed);
    m_hint->setObjectName(u"dropHint"_s);
    m_hint->setAlignment(Qt::AlignCenter);
    m_hint->setText(
        tr("Drop a run folder, a tag folder or a single .pt file here, or two folders to compare"));
    auto* note = new QLabel(tr("Files are only read. Code in a checkpoint is never run."), this);
    note->setObjectName(u"dropNote"_s);
    note->setAlignment(Qt::AlignCenter);
    note->setWordWrap(true);
    note->setForegroundRole(QPalette::PlaceholderText);
    m_open->setObjectName(u"openButton"_s);
    m_open->setDefault(true);
    QFont title = m_recentTitle->font();
    title.setBold(true);
    m_recentTitle->setFont(title);
    m_recentTitle->setObjectName(u"recentTitle"_s);
    m_recent->setObjectName(u"recentList"_s);
    m_recent->setAccessibleName(tr("Recent checkpoints"));
    m_recent->setFrameShape(QFrame::NoFrame);
    m_recent->setSpacing(3);
    m_recent->viewport()->setAutoFillBackground(false);
    m_recent->setTextElideMode(Qt::ElideMiddle);
    m_recent->setIconSize(QSize(22, 22));
    makeLayout(note);

    connect(m_open, &QPushButton::clicked, this, &StartPage::openRequested);
    connect(m_recent, &QListWidget::itemActivated, this, [this](const QListWidgetItem* item) {
        if (const RecentEntry* entry = entryAt(m_recent->row(item)))
            Q_EMIT recentRequested(*entry);
    });
    makeRecentActions();
    connect(&settings, &Settings::recentChanged, this, &StartPage::fillRecent);
    connect(&theme, &Theme::changed, this, qOverload<>(&QWidget::update));
    fillRecent();
}

void StartPage::makeLayout(QLabel* note)
{
    auto* drop = new QVBoxLayout(m_dropArea);
    drop->setSpacing(12);
    drop->addStretch();
    drop->addWidget(m_hint);
    drop->addWidget(m_open, 0, Qt::AlignCenter);
    drop->addWidget(note);
    drop->addStretch();
    auto* column = new QWidget(this);
    column->setMaximumWidth(kColumnWidth);
    auto* parts = new QVBoxLayout(column);
    parts->setContentsMargins(0, 0, 0, 0);
    parts->setSpacing(10);
    auto* what
        = new QLabel(tr("Shardscope shows what is inside checkpoints of DeepSpeed, finds what is wrong with "
                        "them, and writes repaired or resharded copies."),
            column);
    what->setObjectName(u"startSentence"_s);
    what->setWordWrap(true);
    what->setAlignment(Qt::AlignCenter);
    parts->addWidget(what);
    parts->addSpacing(4);
    parts->addWidget(m_messages);
    parts->addWidget(m_dropArea);
    parts->addWidget(makeFirstSteps());
    parts->addSpacing(8);
    parts->addWidget(m_recentTitle);
    parts->addWidget(m_recent, 1);
    parts->addStretch();
    auto* middle = new QHBoxLayout(this);
    middle->setContentsMargins(24, 40, 24, 24);
    middle->addStretch(1);
    middle->addWidget(column, 10);
    middle->addStretch(1);
}

QWidget* StartPage::makeFirstSteps()
{
    auto* links = new QWidget(this);
    auto* row = new QHBoxLayout(links);
    row->setContentsMargins(0, 0, 0, 0);
    const auto add = [&](const QString& name, const QString& icon, const QString& text, const QString& tip) {
        auto* button = new QPushButton(themedIcon(m_theme, icon), text, links);
        button->setObjectName(name);
        button->setToolTip(tip);
        button->setFlat(true);
        row->addWidget(button);
        return button;
    };
    row->addStretch();
    connect(add(u"sampleButton"_s, u"tag"_s, tr("Open the &Sample"),
                tr("A small checkpoint of ZeRO-3 on four ranks, which is part of the program")),
        &QPushButton::clicked, this, &StartPage::sampleRequested);
    connect(add(u"manualButton"_s, u"info"_s, tr("Read the &Manual"), tr("F1 opens it everywhere")),
        &QPushButton::clicked, this, &StartPage::manualRequested);
    row->addStretch();
    return links;
}

void StartPage::fillRecent()
{
    const RecentEntry* current = entryAt(m_recent->currentRow());
    const RecentEntry kept = current != nullptr ? *current : RecentEntry{};
    m_recent->clear();
    m_entries = m_settings.recent();
    QList<QStringList> paths; // of each
    for (const RecentEntry& entry : m_entries) {
        auto* item = new QListWidgetItem(themedIcon(m_theme, entry.pinned ? u"pin"_s : u"folder"_s,
                                             entry.pinned ? ThemeRole::Accent : ThemeRole::MutedText),
            openedText(entry) % u'\n' % secondLine(entry), m_recent);
        paths.append(QStringList{entry.path} + entry.roots);
        item->setToolTip(paths.last().join(u'\n'));
        if (isSamePlace(entry, kept))
            m_recent->setCurrentItem(item);
    }
    m_recentTitle->setVisible(!paths.isEmpty());
    m_recent->setVisible(!paths.isEmpty());
    // A path may be on a slow network share, so a worker checks it.
    m_finder.run<QList<bool>>(
        [paths](const std::stop_token& token, const std::function<void(QList<bool>)>& deliver) {
            QList<bool> exists;
            for (const QStringList& each : paths) {
                if (token.stop_requested())
                    return;
                // Other hosts are asked when somebody opens one of these.
                exists.append(std::all_of(each.begin(), each.end(), [](const QString& path) {
                    return far::isElsewhere(toPath(path)) || QFileInfo::exists(path);
                }));
            }
            deliver(exists);
        },
        [this](const QList<bool>& exists) { markMissing(exists); });
}

void StartPage::markMissing(const QList<bool>& exists)
{
    for (int i = 0; i < m_recent->count() && i < exists.size(); ++i) {
        if (exists[i])
            continue;
        QListWidgetItem* item = m_recent->item(i);
        QFont font = item->font();
        font.setItalic(true);
        item->setFont(font);
        item->setForeground(m_theme.colour(ThemeRole::MutedText));
        item->setText(m_entries[i].path % u'\n' % tr("not found"));
    }
}

void StartPage::makeRecentActions()
{
    // On the list, so that they are in its menu and reached by key alike.
    m_pin = new QAction(tr("Pin"), m_recent);
    m_pin->setObjectName(u"recentPin"_s);
    m_pin->setShortcut(Qt::Key_P);
    auto* forget = new QAction(tr("Remove from This List"), m_recent);
    forget->setObjectName(u"recentForget"_s);
    forget->setShortcut(Qt::Key_Delete);
    for (QAction* action : {m_pin, forget}) {
        action->setShortcutContext(Qt::WidgetShortcut);
        m_recent->addAction(action);
    }
    showActionsInMenu(m_recent);
    connect(m_recent, &QListWidget::currentItemChanged, this, [this](const QListWidgetItem* now) {
        const RecentEntry* entry = now != nullptr ? entryAt(m_recent->row(now)) : nullptr;
        m_pin->setText(entry != nullptr && entry->pinned ? tr("Unpin") : tr("Pin"));
    });
    // A copy: the list is filled again meanwhile.
    connect(m_pin, &QAction::triggered, this, [this] {
        if (const RecentEntry* entry = entryAt(m_recent->currentRow()))
            m_settings.setPinned(OpenedEntry(*entry), !entry->pinned);
    });
    connect(forget, &QAction::triggered, this, [this] {
        if (const RecentEntry* entry = entryAt(m_recent->currentRow()))
            m_settings.forget(OpenedEntry(*entry));
    });
}

const RecentEntry* StartPage::entryAt(int row) const
{
    return row >= 0 && row < m_entries.size() ? &m_entries[row] : nullptr;
}

void StartPage::showError(const Error& error)
{
    m_hint->setText(
        tr("Drop a run folder, a tag folder or a single .pt file here, or two folders to compare"));
    m_messages->showError(error);
}

void StartPage::showOpening(const QString& path)
{
    m_messages->hide();
    m_hint->setText(tr("Opening %1…").arg(path));
}

void StartPage::clearMessages()
{
    m_messages->hide();
    m_hint->setText(
        tr("Drop a run folder, a tag folder or a single .pt file here, or two folders to compare"));
}

void StartPage::setDropTarget(bool lit)
{
    m_lit = lit;
    update();
}

void StartPage::paintEvent(QPaintEvent* /*event*/)
{
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    const QRect area(m_dropArea->mapTo(this, QPoint(0, 0)), m_dropArea->size());
    QPen pen(m_theme.colour(m_lit ? ThemeRole::Accent : ThemeRole::Border), m_lit ? 2 : 1.5, Qt::DashLine);
    painter.setPen(pen);
    painter.setBrush(m_theme.colour(m_lit ? ThemeRole::InfoTint : ThemeRole::Surface));
    painter.drawRoundedRect(QRectF(area).adjusted(1, 1, -1, -1), 10, 10);
}

} // namespace shardscope::ui
