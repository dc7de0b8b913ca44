// SPDX-License-Identifier: Apache-2.0
#include "ui/dialogs/host_dialog.h"

#include "core/base/current_stop.h"
#include "core/checkpoint/folder/folder_content.h"
#include "core/far/far_host.h"
#include "core/far/far_path.h"
#include "core/far/ssh_config.h"
#include "ui/controls/table_setup.h"
#include "ui/dialogs/manual_window.h"
#include "ui/style/icons.h"
#include "ui/text/text.h"
#include "ui/widgets/message_bar.h"
#include "ui/widgets/window_fit.h"

#include <QComboBox>
#include <QDialogButtonBox>
#include <QDir>
#include <QFormLayout>
#include <QHeaderView>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QSet>
#include <QTreeWidget>
#include <QVBoxLayout>

#include <algorithm>
#include <optional>
#include <vector>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

namespace {

constexpr int kNameRole = Qt::UserRole; ///< raw bytes
constexpr int kFolderRole = Qt::UserRole + 100; ///< none that the delegate of trees paints
constexpr size_t kMostShown = 2000;
constexpr uint64_t kMostSearched = 64; ///< subfolders; each takes a request
constexpr auto kStore = "s3://"_L1; ///< in place of a host

bool isInStore(const io::Path& path)
{
    return far::isElsewhere(path) && !far::isFar(path);
}

/// Whether it is the store itself, which only has buckets.
bool isStore(const io::Path& path)
{
    return path == io::Path(kStore.data());
}

/// As what is typed in both fields; `s3://` has neither bucket nor key.
QString storePath(const QString& host, const QString& folder)
{
    const QString below = folder == "~"_L1 ? QString() : folder;
    const QString whole = host.sliced(kStore.size()) % u'/' % below;
    return kStore % whole.split(u'/', Qt::SkipEmptyParts).join(u'/');
}

QString foldersText(uint64_t count)
{
    return count == 1 ? HostDialog::tr("1 folder") : HostDialog::tr("%1 folders").arg(countText(count));
}

/// Whether it holds a checkpoint, as far as a few requests tell.
bool looksLikeCheckpoint(io::FileSystem& files, const Folder& folder, uint64_t folders)
{
    return folders <= kMostSearched ? holdsCheckpoint(files, folder)
                                    : folder.isTagFolder() || folder.has("latest");
}

} // namespace

/// A folder of another host or store, or why it could not be listed.
struct HostDialog::Listing {
    struct Entry {
        std::string name; ///< raw bytes
        bool isFolder = false;
    };
    io::Path path;
    std::vector<Entry> entries = {}; ///< without hidden ones, folders first; the first kMostShown
    uint64_t folders = 0; ///< all that are not hidden
    uint64_t files = 0;
    bool isCheckpoint = false;
    std::optional<Error> error = {};

    void take(const std::vector<io::DirectoryEntry>& found)
    {
        for (const bool wanted : {true, false}) {
            for (const io::DirectoryEntry& entry : found) {
                if (entry.name.starts_with('.') || isFolderOrLink(entry) != wanted)
                    continue;
                ++(wanted ? folders : files);
                if (entries.size() < kMostShown)
                    entries.push_back({entry.name, wanted});
            }
        }
    }
};

HostDialog::HostDialog(io::FileSystem& files, Theme& theme, const QStringList& hosts, QWidget* parent)
    : QDialog(parent)
    , m_files(files)
    , m_host(new QComboBox(this))
    , m_folder(new QLineEdit(u"~"_s, this))
    , m_messages(new MessageBar(theme, this))
    , m_list(new QTreeWidget(this))
    , m_hint(new QLabel(m_list->viewport()))
    , m_summary(new QLabel(this))
    , m_open(new QPushButton(tr("&Open"), this))
{
    setObjectName(u"hostDialog"_s);
    setWindowTitle(tr("Open on Another Host"));
    setAttribute(Qt::WA_DeleteOnClose);
    addManualKey(this, u"far"_s);
    m_host->setObjectName(u"hostName"_s);
    m_host->setEditable(true);
    m_host->setInsertPolicy(QComboBox::NoInsert);
    m_host->addItems(hosts);
    m_host->addItem(kStore);
    m_host->setCurrentIndex(-1);
    m_host->lineEdit()->setPlaceholderText(tr("[user@]host, as ssh takes it, or s3://bucket"));
    m_folder->setObjectName(u"hostFolder"_s);
    m_list->setObjectName(u"hostList"_s);
    prepareTree(m_list, theme, u"hostList"_s, tr("What the folder contains"));
    m_list->setHeaderLabels({tr("Name")});
    m_list->setRootIsDecorated(false);
    m_list->header()->hide();
    m_list->installEventFilter(this);
    m_hint->setObjectName(u"hostHint"_s);
    m_hint->setAlignment(Qt::AlignCenter);
    m_hint->setWordWrap(true);
    m_hint->setForegroundRole(QPalette::PlaceholderText);
    auto* inList = new QVBoxLayout(m_list->viewport());
    inList->addWidget(m_hint);
    m_summary->setObjectName(u"hostSummary"_s);
    m_summary->setWordWrap(true);
    m_open->setObjectName(u"hostOpen"_s);
    makeLayout();
    connect(m_host, &QComboBox::activated, this, [this] {
        const bool isBucket = m_host->currentText().startsWith(kStore);
        if (isBucket || isInStore(m_listed)) // a path of hosts is none of buckets
            m_folder->setText(isBucket ? u"/"_s : u"~"_s);
        look();
    });
    connect(m_host->lineEdit(), &QLineEdit::textEdited, this, &HostDialog::clear);
    connect(m_folder, &QLineEdit::textEdited, this, &HostDialog::clear);
    connect(m_list, &QTreeWidget::itemActivated, this, [this](const QTreeWidgetItem* item) {
        if (item->data(0, kFolderRole).toBool())
            look(item->data(0, kNameRole).toByteArray().toStdString());
        else
            choose();
    });
    connect(
        m_list, &QTreeWidget::itemSelectionChanged, this, [this] { m_open->setEnabled(!chosen().empty()); });
    connect(m_open, &QPushButton::clicked, this, &HostDialog::choose);
    clear();
    addConfiguredHosts();
}

void HostDialog::makeLayout()
{
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Cancel, this);
    buttons->addButton(m_open, QDialogButtonBox::AcceptRole);
    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
    auto* list = new QPushButton(tr("&List"), this);
    list->setObjectName(u"hostLook"_s);
    list->setDefault(true); // Enter in a field
    connect(list, &QPushButton::clicked, this, [this] { look(); });
    auto* folder = new QHBoxLayout;
    folder->addWidget(m_folder, 1);
    folder->addWidget(list);
    auto* form = new QFormLayout;
    form->addRow(tr("&Host"), m_host);
    auto* label = new QLabel(tr("&Folder"), this);
    label->setBuddy(m_folder);
    form->addRow(label, folder);
    auto* rows = new QVBoxLayout(this);
    rows->setContentsMargins(20, 18, 20, 14);
    rows->setSpacing(10);
    rows->addLayout(form);
    rows->addWidget(m_messages);
    rows->addWidget(m_list, 1);
    rows->addWidget(m_summary);
    rows->addWidget(buttons);
    m_messages->hide();
    resizeWithinScreen(this, {720, 520});
}

void HostDialog::addConfiguredHosts()
{
    m_configWorker.run<std::vector<std::string>>(
        [&files = m_files, config = toPath(QDir::home().filePath(u".ssh/config"_s))](
            const std::stop_token&, const std::function<void(std::vector<std::string>)>& deliver) {
            deliver(far::hostsInSshConfig(files, config));
        },
        [this](const std::vector<std::string>& hosts) {
            const QString typed = m_host->currentText();
            QSet<QString> known;
            for (int i = 0; i < m_host->count(); ++i)
                known.insert(m_host->itemText(i));
            QStringList more;
            for (const std::string& host : hosts) {
                if (!known.contains(toText(host)))
                    more.append(toText(host));
            }
            m_host->addItems(more);
            if (typed.isEmpty())
                m_host->setCurrentIndex(-1);
            else
                m_host->setEditText(typed);
        });
}

void HostDialog::fill(const io::Path& path)
{
    const auto there = far::farPathOf(path);
    if (!there)
        return;
    m_host->setEditText(toText(there->host));
    m_folder->setText(pathText(there->path));
    clear();
    if (const std::string drive = far::driveHint(there->host); !drive.empty())
        m_messages->showMessage(Severity::Warning, sentenceText(drive));
    m_open->setFocus(); // Enter confirms
}

io::Path HostDialog::folder() const
{
    const QString host = m_host->currentText().trimmed();
    const QString typed = m_folder->text().trimmed();
    if (host.isEmpty())
        return {};
    if (host.startsWith(kStore))
        return toPath(storePath(host, typed));
    const QString path = host % u':' % (typed == "~"_L1 ? QString() : typed);
    return far::typedPath(path.toStdString());
}

void HostDialog::showHint(const QString& text)
{
    m_hint->setText(text);
    m_hint->setVisible(!text.isEmpty());
    m_list->setAccessibleDescription(text);
}

void HostDialog::clear()
{
    m_worker.cancel();
    m_listed.clear();
    m_list->clear();
    m_messages->hide();
    showHint(tr("Choose a host, or type its name, and press List: its folders appear here.\n\nThe hosts in "
                "~/.ssh/config are offered, and those that were opened before."));
    m_summary->setText(
        tr("ssh connects, with your keys and configuration. Nothing needs to be installed there."));
    if (isInStore(folder())) {
        showHint(tr("Type s3:// or s3://bucket, and press List: buckets and folders appear here."));
        m_summary->setText(tr("Endpoint and keys are those of the AWS tools. s3:// lists your buckets."));
    }
    m_open->setEnabled(!chosen().empty());
}

io::Path HostDialog::above() const
{
    const auto there = far::farPathOf(m_listed);
    if (there)
        return there->path.has_relative_path() ? m_listed.parent_path() : io::Path();
    if (!isInStore(m_listed) || isStore(m_listed))
        return {};
    const io::Path parent = m_listed.parent_path(); // "s3:" of a bucket
    return isInStore(parent) ? parent : io::Path(kStore.data());
}

void HostDialog::look(const std::string& below)
{
    io::Path wanted = below.empty() ? folder() : m_listed / below;
    if (below == "..")
        wanted = above();
    if (!far::isElsewhere(wanted)) {
        m_messages->showMessage(Severity::Warning,
            m_host->currentText().trimmed().isEmpty() ? tr("Name a host, or a bucket as s3://bucket.")
                                                      : tr("This is no name of a host or s3://bucket, or no "
                                                           "path on it: a path begins with / or ~."));
        return;
    }
    m_messages->hide();
    showHint({});
    m_summary->setText(tr("Listing %1…").arg(pathText(wanted)));
    m_worker.run<Listing>(
        [&files = m_files, wanted](
            const std::stop_token& token, const std::function<void(Listing)>& deliver) {
            const StopScope scope(token);
            Listing out{wanted};
            far::connectAgainTo(std::span(&wanted, 1));
            const auto path = isInStore(wanted) ? wanted : files.canonical(wanted);
            auto folder = path ? listFolder(files, *path) : Result<Folder>(forward(path.error()));
            if (folder) {
                out.path = *path;
                out.take(folder->entries);
                // Buckets are no checkpoint, and looking into each takes long.
                out.isCheckpoint = !isStore(wanted) && looksLikeCheckpoint(files, *folder, out.folders);
            } else {
                out.error = folder.error();
            }
            deliver(std::move(out));
        },
        [this](const Listing& listing) { show(listing); });
}

void HostDialog::showPlace()
{
    if (const auto there = far::farPathOf(m_listed)) {
        m_folder->setText(QString::fromStdString(there->path.native()));
        return;
    }
    const QString path = QString::fromStdString(m_listed.native());
    const qsizetype key = path.indexOf(u'/', kStore.size());
    m_host->setEditText(path.left(key));
    m_folder->setText(key < 0 ? u"/"_s : path.sliced(key));
}

void HostDialog::show(const Listing& listing)
{
    m_list->clear();
    if (listing.error) {
        m_listed.clear();
        m_summary->clear();
        m_messages->showError(*listing.error);
        return;
    }
    m_listed = listing.path;
    showPlace();
    const QIcon icons[]
        = {style()->standardIcon(QStyle::SP_FileIcon), style()->standardIcon(QStyle::SP_DirIcon)};
    QList<QTreeWidgetItem*> items; // in no list yet: nothing follows each change
    const auto add = [&](const QString& text, const std::string& name, bool isFolder) {
        auto* item = new QTreeWidgetItem({text});
        item->setData(0, kNameRole, QByteArray::fromStdString(name));
        item->setData(0, kFolderRole, isFolder);
        item->setIcon(0, icons[isFolder ? 1 : 0]);
        items.append(item);
    };
    if (!above().empty())
        add(tr(".. (up)"), "..", true);
    for (const Listing::Entry& entry : listing.entries)
        add(toText(entry.name), entry.name, entry.isFolder);
    m_list->addTopLevelItems(items);
    const QString none = isStore(m_listed) ? tr("There are no buckets.") : tr("The folder is empty.");
    showHint(items.isEmpty() ? none : QString());
    QString what = tr("%1, %2.").arg(foldersText(listing.folders), filesText(listing.files));
    if (isStore(m_listed))
        what = listing.folders == 1 ? tr("1 bucket.") : tr("%1 buckets.").arg(countText(listing.folders));
    if (listing.entries.size() < listing.folders + listing.files)
        what += tr(" The first %1 are shown; type the name of another one.")
                    .arg(countText(listing.entries.size()));
    m_summary->setText(listing.isCheckpoint ? tr("This folder holds a checkpoint. %1").arg(what) : what);
    if (m_list->topLevelItemCount() > 0)
        m_list->setCurrentItem(m_list->topLevelItem(0));
    m_list->clearSelection(); // the folder itself is what opens
    m_open->setEnabled(!chosen().empty());
    m_list->setFocus();
}

io::Path HostDialog::chosen() const
{
    const QList<QTreeWidgetItem*> selected = m_list->selectedItems();
    const std::string name = selected.isEmpty()
        ? std::string()
        : selected.first()->data(0, kNameRole).toByteArray().toStdString();
    const io::Path path = m_listed.empty() ? folder()
        : name.empty() || name == ".."     ? m_listed
                                           : m_listed / name;
    return far::isElsewhere(path) && !isStore(path) ? path : io::Path();
}

void HostDialog::choose()
{
    const io::Path path = chosen();
    if (path.empty())
        return look(); // says why not
    Q_EMIT pathChosen(path);
    accept();
}

bool HostDialog::eventFilter(QObject* watched, QEvent* event)
{
    if (watched == m_list && event->type() == QEvent::KeyPress) {
        const auto* key = static_cast<QKeyEvent*>(event);
        if (key->key() == Qt::Key_Backspace && !above().empty()) {
            look("..");
            return true;
        }
        if (key->key() == Qt::Key_Return || key->key() == Qt::Key_Enter) {
            // Else the default button takes it.
            if (QTreeWidgetItem* item = m_list->currentItem())
                Q_EMIT m_list->itemActivated(item, 0);
            return true;
        }
    }
    return QDialog::eventFilter(watched, event);
}

} // namespace shardscope::ui
