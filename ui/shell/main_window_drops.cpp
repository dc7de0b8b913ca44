// SPDX-License-Identifier: Apache-2.0
// Ways to open something without a dialog: drops on the window, and the sample.
#include "ui/shell/main_window.h"

#include "core/far/far_path.h"
#include "ui/dialogs/host_dialog.h"
#include "ui/pages/start_page.h"
#include "ui/shell/drop_overlay.h"
#include "ui/shell/opened_again.h"
#include "ui/shell/sample.h"
#include "ui/shell/window_docks.h"
#include "ui/text/text.h"

#include <QClipboard>
#include <QDropEvent>
#include <QFileInfo>
#include <QGuiApplication>
#include <QMimeData>
#include <QStackedWidget>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

namespace {

/// A text that is one path of this machine or of another one; else empty.
QString pathIn(const QString& text)
{
    const QString path = text.trimmed();
    const bool isPath = path.startsWith(u'/') || far::isElsewhere(toPath(path));
    return isPath && !path.contains(u'\n') ? path : QString();
}

/// The paths of a drop; empty if any of it is not on this machine, or no text that is a path.
QStringList pathsOf(const QMimeData& data)
{
    QStringList paths;
    if (const QString path = pathIn(data.text()); !data.hasUrls() && !path.isEmpty())
        return {path};
    for (const QUrl& url : data.urls()) {
        if (!url.isLocalFile())
            return {};
        paths.append(url.toLocalFile());
    }
    return paths;
}

/// A text may look like the path of a host and be none: the user confirms it before anything connects.
bool asksForHost(MainWindow& window, const QString& path)
{
    if (!far::isFar(toPath(path)))
        return false;
    window.actionSet()[ActionId::OpenHost]->trigger();
    for (HostDialog* dialog : window.findChildren<HostDialog*>(QString(), Qt::FindDirectChildrenOnly))
        dialog->fill(toPath(path));
    return true;
}

} // namespace

void MainWindow::dragEnterEvent(QDragEnterEvent* event)
{
    const QStringList paths = pathsOf(*event->mimeData());
    if (paths.isEmpty())
        return;
    event->setDropAction(Qt::LinkAction);
    event->accept();
    showDrop(paths);
}

void MainWindow::dragLeaveEvent(QDragLeaveEvent* /*event*/)
{
    showDrop({});
}

void MainWindow::dropEvent(QDropEvent* event)
{
    const QStringList paths = pathsOf(*event->mimeData());
    showDrop({});
    if (paths.size() > 2) {
        QList<OpenedEntry> entries;
        for (const QString& path : paths)
            entries.append({path, {}, {}, {}, {}, {}});
        return openAgain(entries);
    }
    if (paths.isEmpty() || asksForHost(*this, paths.first()))
        return;
    openPath(paths.first());
    if (paths.size() == 2) // two paths prepare a comparison; the user starts it
        compareWith(paths.last(), false);
}

void MainWindow::openPasted()
{
    if (const QString path = pathIn(QGuiApplication::clipboard()->text());
        !path.isEmpty() && !asksForHost(*this, path))
        openPath(path);
}

void MainWindow::showDrop(const QStringList& paths)
{
    auto* overlay = findChild<DropOverlay*>(QString(), Qt::FindDirectChildrenOnly);
    if (overlay == nullptr && !paths.isEmpty())
        overlay = new DropOverlay(m_theme, this);
    const bool isStart = m_session.checkpoint() == nullptr;
    m_start->setDropTarget(!paths.isEmpty());
    const auto name = [](const QString& path) { return QFileInfo(path).fileName(); };
    if (overlay == nullptr)
        return;
    if (paths.size() == 2)
        overlay->say(tr("Drop to compare %1 with %2").arg(name(paths[0]), name(paths[1])));
    else if (paths.size() > 2)
        overlay->say(tr("Drop to open %1 checkpoints, each in a tab").arg(paths.size()));
    else if (!paths.isEmpty() && !isStart) // the start page has an area for drops
        overlay->say(tr("Drop to open %1 in another tab").arg(name(paths[0])));
    else
        overlay->say({});
}

void MainWindow::showJobs()
{
    m_docks->showJobs();
}

void MainWindow::openSample()
{
    auto* worker = new SampleOpener(m_settings.folder(), this);
    connect(worker, &SampleOpener::unpacked, this, [this](const QString& path) { openPath(path); });
    connect(worker, &SampleOpener::failed, this, &MainWindow::showOpenError);
}

} // namespace shardscope::ui
