// SPDX-License-Identifier: Apache-2.0
#include "ui/shell/screenshot.h"

#include "ui/dialogs/export_dialog.h"
#include "ui/dialogs/manual_window.h"
#include "ui/dialogs/reshard_dialog.h"
#include "ui/layoutmap/layout_map_view.h"
#include "ui/shell/main_window.h"
#include "ui/text/text.h"

#include <QDeadlineTimer>
#include <QEventLoop>
#include <QPainter>
#include <QPixmap>
#include <QTimer>

#include <cstdio>
#include <optional>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

namespace {

constexpr int kTimeoutMs = 60'000;

/// Runs the event loop until `done` returns true twice in a row; false after a timeout.
template <class Done>
bool waitUntil(Done done)
{
    const QDeadlineTimer deadline(kTimeoutMs);
    for (int calm = 0; calm < 3;) {
        QEventLoop pause;
        QTimer::singleShot(20, &pause, &QEventLoop::quit);
        pause.exec();
        calm = done() ? calm + 1 : 0;
        if (deadline.hasExpired())
            return false;
    }
    return true;
}

bool complain(const QString& text)
{
    std::fprintf(stderr, "shardscope-gui: %s\n", qUtf8Printable(text));
    return false;
}

/// Dialogs and panels that an action opens over the window.
struct Opened {
    const char16_t* name;
    ActionId action;
};
constexpr Opened kOpened[] = {{u"find", ActionId::Find}, {u"palette", ActionId::Palette},
    {u"shortcuts", ActionId::Shortcuts}, {u"settings", ActionId::Settings}, {u"clean", ActionId::Clean},
    {u"about", ActionId::About}, {u"host", ActionId::OpenHost}};

/// The window with the dialog over it, as a person sees them.
QPixmap pictureOf(QWidget& window)
{
    QPixmap picture = window.grab();
    for (QDialog* dialog : window.findChildren<QDialog*>(QString(), Qt::FindDirectChildrenOnly)) {
        if (!dialog->isVisible())
            continue;
        dialog->resize(dialog->size().boundedTo(window.size() - QSize(40, 40)));
        const QPixmap over = dialog->grab();
        const QSize size = over.size() / over.devicePixelRatio();
        const QPoint at((window.width() - size.width()) / 2, (window.height() - size.height()) / 3);
        QPainter painter(&picture);
        painter.drawPixmap(at, over);
        painter.setPen(window.palette().color(QPalette::Mid));
        painter.drawRect(QRect(at, size).adjusted(-1, -1, 0, 0));
    }
    return picture;
}

/// The window or dialog that shows what is wanted; null if that is not possible, with the reason in `why`.
QWidget* show(MainWindow& window, const QString& name, QString& why)
{
    const auto planned = [&](PlanDialog* dialog, const QString& what) -> QWidget* {
        if (dialog == nullptr)
            why = u"this checkpoint cannot be %1"_s.arg(what);
        else
            waitUntil([&] { return dialog->preview().plan || dialog->preview().problem; });
        return dialog;
    };
    if (name == "reshard"_L1) {
        auto* dialog = static_cast<ReshardDialog*>(planned(window.showReshardDialog(), u"resharded"_s));
        if (dialog != nullptr)
            waitUntil([&] { return !dialog->isDrawing(); });
        return dialog;
    }
    if (name == "export"_L1)
        return planned(window.showExportDialog(), u"exported"_s);
    if (name == "manual"_L1) {
        ManualWindow::open(&window, u"concepts"_s);
        return window.findChild<ManualWindow*>();
    }
    if (name == "repair"_L1)
        window.showRepair();
    if (name == "jobs"_L1)
        window.showJobs();
    for (const Opened& each : kOpened) {
        if (name != each.name)
            continue;
        if (!window.actionSet()[each.action]->isEnabled())
            why = u"“%1” needs a checkpoint"_s.arg(name);
        window.actionSet()[each.action]->trigger();
    }
    if (name == "drop"_L1)
        window.showDrop({u"/runs/llama/global_step100"_s, u"/runs/llama/global_step200"_s});
    const bool isKnown = name.isEmpty() || screenshotPages().contains(name);
    if (!isKnown || (pageNamed(name) && !window.showPage(name)))
        why = u"there is no page named “%1”; use %2"_s.arg(name, screenshotPages().join(u", "_s));
    return why.isEmpty() ? &window : nullptr;
}

bool drawn(const QWidget& window)
{
    for (const LayoutMapView* map : window.findChildren<LayoutMapView*>())
        if (map->isVisible() && map->isBusy())
            return false;
    return true;
}

} // namespace

QStringList pageNames()
{
    QStringList out;
    for (const PageEntry& page : pageList())
        out.append(page.name);
    return out;
}

QStringList screenshotPages()
{
    QStringList out = pageNames();
    out << u"start"_s << u"jobs"_s << u"repair"_s << u"reshard"_s << u"export"_s << u"manual"_s << u"drop"_s;
    for (const Opened& each : kOpened)
        out.append(QString::fromUtf16(each.name));
    return out;
}

bool takeScreenshot(MainWindow& window, const ScreenshotWish& wish)
{
    window.resize(wish.size);
    window.show();
    std::optional<Error> error;
    QObject::connect(
        &window.session(), &Session::openFailed, &window, [&](const Error& why) { error = why; });
    if (!wish.place.path.empty() && wish.page != "start"_L1) {
        window.openPlace(wish.place);
        waitUntil([&] { return window.isSettled(); });
        if (error)
            return complain(errorText(*error));
    }
    if (!window.session().checkpoint() && window.session().runsFolder() && !wish.page.isEmpty()
        && pageNamed(wish.page) != PageId::Runs)
        return complain(
            u"%1 is a folder of runs: use --page runs, or give one of them"_s.arg(pathText(wish.place.path)));
    if (!wish.select.isEmpty() && !window.goToAddress(wish.select))
        return complain(u"the checkpoint has no parameter or address “%1”"_s.arg(wish.select));
    if (!wish.against.isEmpty()) {
        window.compareWith(wish.against, true);
        waitUntil([&] { return window.isSettled(); });
    }
    QString why;
    QWidget* shown = show(window, wish.page, why);
    if (shown == nullptr)
        return complain(why);
    shown->resize(wish.size);
    (void)shown->grab(); // the first picture makes the map request its tiles
    if (!waitUntil([&] { return window.isSettled() && drawn(*shown); }))
        return complain(u"the picture was not ready in time"_s);
    if (shown->size() != wish.size)
        return complain(u"this page needs at least %1x%2"_s.arg(shown->width()).arg(shown->height()));
    if (!pictureOf(*shown).save(wish.file, "PNG"))
        return complain(u"cannot write %1"_s.arg(wish.file));
    return true;
}

} // namespace shardscope::ui
