// SPDX-License-Identifier: Apache-2.0
#include "ui/dialogs/clean_dialog.h"

#include "core/report/answers/clean_report.h"
#include "ui/controls/table_setup.h"
#include "ui/dialogs/manual_window.h"
#include "ui/text/text.h"
#include "ui/widgets/message_bar.h"
#include "ui/widgets/path_field.h"
#include "ui/widgets/window_fit.h"

#include <QDialogButtonBox>
#include <QFormLayout>
#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QTreeWidget>
#include <QVBoxLayout>

#include <algorithm>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

namespace {

enum Column { Name, Size, Age, State, kColumns };
using CleanState = CleanEntry::State;

QString stateText(const CleanEntry& entry)
{
    switch (entry.state) {
    case CleanState::Abandoned:
        return CleanDialog::tr("abandoned, can be removed");
    case CleanState::InUse:
        return CleanDialog::tr("kept: a running job uses it");
    case CleanState::HalfPublished:
        return CleanDialog::tr("kept: the same job completes it");
    case CleanState::Foreign:
        return entry.work.isLink ? CleanDialog::tr("kept: it is a link")
                                 : CleanDialog::tr("kept: it belongs to another user");
    case CleanState::Removed:
        break;
    }
    return CleanDialog::tr("removed");
}

/// Number and size of the entries in a state.
std::pair<uint64_t, uint64_t> countOf(const std::vector<CleanEntry>& entries, CleanState state)
{
    std::pair<uint64_t, uint64_t> out;
    for (const CleanEntry& entry : entries) {
        if (entry.state != state)
            continue;
        ++out.first;
        out.second += entry.work.bytes;
    }
    return out;
}

QString removedText(const std::vector<CleanEntry>& entries)
{
    const auto [gone, freed] = countOf(entries, CleanState::Removed);
    return CleanDialog::tr("Removed: %1, %2.").arg(countText(gone), bytesText(freed));
}

using Entries = Result<std::vector<CleanEntry>>;

/// An error says how much was removed before it.
Entries removeShown(
    io::FileSystem& files, const io::Path& folder, const std::vector<UnfinishedWork>& shown, JobContext& job)
{
    Entries entries = cleanShown(files, folder, shown, job);
    if (entries || entries.error().code == ErrorCode::Cancelled)
        return entries;
    const Entries left = cleanFolder(files, folder, false, job);
    const auto isGone = [&left](const UnfinishedWork& work) {
        return std::ranges::none_of(
            *left, [&work](const CleanEntry& entry) { return entry.work.path == work.path; });
    };
    const QString count
        = left ? countText(static_cast<uint64_t>(std::ranges::count_if(shown, isGone))) : QString();
    entries.error().message
        += (left ? CleanDialog::tr("; before that, %1 of %2 were removed").arg(count, countText(shown.size()))
                 : CleanDialog::tr("; how many were removed before is not known"))
               .toStdString();
    return entries;
}

} // namespace

CleanDialog::CleanDialog(io::FileSystem& files, Theme& theme, const io::Path& folder, QWidget* parent)
    : QDialog(parent)
    , m_files(files)
    , m_begin(folder)
    , m_folder(new PathField({.kind = PathQuestion::Kind::Folder,
                                 .name = u"cleanFolderDialog"_s,
                                 .title = tr("Clean Up a Folder")},
          this))
    , m_messages(new MessageBar(theme, this))
    , m_list(new QTreeWidget(this))
    , m_summary(new QLabel(this))
    , m_remove(new QPushButton(tr("&Remove"), this))
{
    setObjectName(u"cleanDialog"_s);
    setWindowTitle(tr("Clean Up After Jobs"));
    addManualKey(this, u"resharding"_s);
    m_folder->setObjectName(u"cleanFolder"_s);
    m_folder->line()->setPlaceholderText(tr("The folder that a job wrote to"));
    m_folder->line()->setText(pathText(folder));
    prepareTree(m_list, theme, u"cleanList"_s, tr("What interrupted jobs left"));
    m_list->setColumnCount(kColumns);
    m_list->setHeaderLabels({tr("Name"), tr("Size"), tr("Last written"), tr("State")});
    m_list->setRootIsDecorated(false);
    m_list->header()->setStretchLastSection(false);
    m_list->header()->setSectionResizeMode(QHeaderView::ResizeToContents);
    m_list->header()->setSectionResizeMode(Name, QHeaderView::Stretch);
    m_summary->setObjectName(u"cleanSummary"_s);
    m_summary->setWordWrap(true);
    m_remove->setObjectName(u"cleanRemove"_s);
    m_remove->setAutoDefault(false);
    m_remove->setEnabled(false);
    makeLayout();
    connect(m_folder->line(), &QLineEdit::textChanged, this, [this] { look(); });
    connect(m_remove, &QPushButton::clicked, this, &CleanDialog::remove);
    look();
}

void CleanDialog::makeLayout()
{
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close, this);
    buttons->addButton(m_remove, QDialogButtonBox::ActionRole);
    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
    auto* form = new QFormLayout;
    form->addRow(tr("&Folder"), m_folder);
    auto* rows = new QVBoxLayout(this);
    rows->setContentsMargins(20, 18, 20, 14);
    rows->setSpacing(10);
    rows->addLayout(form);
    rows->addWidget(m_messages);
    rows->addWidget(m_list, 1);
    rows->addWidget(m_summary);
    rows->addWidget(buttons);
    m_messages->hide();
    resizeWithinScreen(this, {760, 420});
}

io::Path CleanDialog::folder() const
{
    // Its text has lost what is not UTF-8.
    return m_folder->line()->text() == pathText(m_begin) ? m_begin : toPath(m_folder->path());
}

void CleanDialog::look()
{
    m_remove->setEnabled(false);
    m_abandoned.clear();
    m_messages->hide();
    if (m_folder->path().isEmpty()) {
        m_worker.cancel();
        m_list->clear();
        m_summary->setText(tr("Choose a folder. Its subfolders are not searched."));
        return;
    }
    m_summary->setText(tr("Looking…"));
    m_worker.run<Entries>(
        [&files = m_files, folder = folder()](
            const std::stop_token& token, const std::function<void(Entries)>& deliver) {
            JobContext job(token);
            deliver(cleanFolder(files, folder, false, job));
        },
        [this](const Entries& entries) {
            if (entries)
                return showEntries(*entries, false);
            m_list->clear();
            m_summary->clear();
            m_messages->showError(entries.error());
        });
}

void CleanDialog::remove()
{
    m_isRemoving = true;
    m_folder->setEnabled(false); // another folder would cancel it half-way
    m_remove->setEnabled(false);
    m_messages->hide();
    m_summary->setText(tr("Removing…"));
    m_worker.run<Entries>(
        [&files = m_files, folder = folder(), shown = m_abandoned](
            const std::stop_token& token, const std::function<void(Entries)>& deliver) {
            JobContext job(token);
            deliver(removeShown(files, folder, shown, job));
        },
        [this](const Entries& entries) { endRemoval(entries); });
}

void CleanDialog::endRemoval(const Entries& entries)
{
    m_isRemoving = false;
    m_folder->setEnabled(true);
    if (isHidden()) {
        if (entries)
            Q_EMIT removed(removedText(*entries));
        else
            Q_EMIT failed(entries.error());
        deleteLater();
        return;
    }
    if (entries)
        return showEntries(*entries, true);
    look(); // what is left
    m_messages->showError(entries.error());
}

void CleanDialog::done(int result)
{
    if (!m_isRemoving)
        return QDialog::done(result);
    setAttribute(Qt::WA_DeleteOnClose, false);
    hide();
}

void CleanDialog::showEntries(const std::vector<CleanEntry>& entries, bool removed)
{
    m_list->clear();
    m_abandoned.clear();
    for (const CleanEntry& entry : entries) {
        if (entry.state == CleanState::Abandoned)
            m_abandoned.push_back(entry.work);
        const QString name = pathText(entry.work.path.filename());
        const QString age = toText(workAgeText(entry));
        const bool isRead = !age.isEmpty(); // else neither its age nor its size is known
        auto* item = new QTreeWidgetItem(m_list,
            {name, isRead ? bytesText(entry.work.bytes) : QString(),
                isRead ? tr("%1 ago").arg(age) : QString(), stateText(entry)});
        item->setTextAlignment(Size, Qt::AlignRight | Qt::AlignVCenter);
        item->setTextAlignment(Age, Qt::AlignRight | Qt::AlignVCenter);
        // As rich text, so that it cannot be taken for one.
        item->setToolTip(Name,
            u"<span>%1</span>"_s.arg(tr("%1, for %2").arg(name, toText(entry.work.target)).toHtmlEscaped()));
        if (isRead)
            item->setToolTip(Size, exactBytesText(entry.work.bytes));
    }
    const auto [left, bytes] = countOf(entries, CleanState::Abandoned);
    m_remove->setEnabled(left > 0);
    m_remove->setText(
        left == 0 ? tr("&Remove") : tr("&Remove %1 (%2)").arg(countText(left), bytesText(bytes)));
    const uint64_t kept = entries.size() - left - countOf(entries, CleanState::Removed).first;
    QStringList text;
    if (removed)
        text.append(removedText(entries));
    else if (entries.empty())
        text.append(tr("No job left anything in this folder. Its subfolders were not searched."));
    else if (left > 0)
        text.append(tr("Abandoned work is continued if its job is started again. After the removal, the job "
                       "starts from the beginning."));
    if (removed && left > 0)
        text.append(tr("Abandoned since it was listed: %1.").arg(countText(left)));
    if (kept > 0)
        text.append(tr("Kept: %1.").arg(countText(kept)));
    m_summary->setText(text.join(u' '));
}

} // namespace shardscope::ui
