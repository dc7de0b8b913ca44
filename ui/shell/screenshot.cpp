// SPDX-License-Identifier: Apache-2.0
#include "ui/shell/screenshot.h"

#include "ui/dialogs/export_dialog.h"
#include "ui/dialogs/manual_window.h"
#include "ui/dialogs/reshard_dialog.h"
#include "ui/layoutmap/layout_map_view.h"
#include "ui/shell/main_window.h"
#include "ui/style/text_size.h"
#include "ui/text/text.h"

#include <QDeadlineTimer>
#include <QEventLoop>
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

bool drawn(const QWidget& window)
{
    for (const LayoutMapView* map : window.findChildren<LayoutMapView*>())
        if (map->isVisible() && map->isBusy())
            return false;
    return true;
}

} // namespace

QStringList screenshotPages()
{
    QStringList out;
    for (const PageEntry& page : pageList())
        out.append(page.name);
    return out << u"reshard"_s << u"export"_s << u"manual"_s;
}

bool takeScreenshot(MainWindow& window, const ScreenshotWish& wish)
{
    applyTextSize(100); // a picture does not depend on the user's settings
    window.resize(wish.size);
    window.show();
    std::optional<Error> error;
    QObject::connect(
        &window.session(), &Session::openFailed, &window, [&](const Error& why) { error = why; });
    if (!wish.path.isEmpty()) {
        window.openPath(wish.path);
        waitUntil([&] { return window.isSettled(); });
        if (error)
            return complain(errorText(*error));
    }
    if (!window.session().checkpoint() && window.session().runsFolder() && !wish.page.isEmpty()
        && pageNamed(wish.page) != PageId::Runs)
        return complain(u"%1 is a folder of runs: use --page runs, or give one of them"_s.arg(wish.path));
    if (!wish.select.isEmpty() && !window.goToAddress(wish.select))
        return complain(u"the checkpoint has no parameter or address “%1”"_s.arg(wish.select));
    if (!wish.against.isEmpty()) {
        window.compareWith(wish.against, true);
        waitUntil([&] { return window.isSettled(); });
    }
    QWidget* shown = &window;
    if (wish.page == "reshard"_L1) {
        ReshardDialog* dialog = window.showReshardDialog();
        if (dialog == nullptr)
            return complain(u"this checkpoint cannot be resharded"_s);
        waitUntil([&] { return dialog->preview().plan || dialog->preview().problem; });
        shown = dialog;
    } else if (wish.page == "export"_L1) {
        ExportDialog* dialog = window.showExportDialog();
        if (dialog == nullptr)
            return complain(u"this checkpoint cannot be exported"_s);
        waitUntil([&] { return dialog->preview().plan || dialog->preview().problem; });
        shown = dialog;
    } else if (wish.page == "manual"_L1) {
        ManualWindow::open(&window, u"concepts"_s);
        shown = window.findChild<ManualWindow*>();
    } else if (!wish.page.isEmpty() && !window.showPage(wish.page)) {
        return complain(
            u"there is no page named “%1”; use %2"_s.arg(wish.page, screenshotPages().join(u", "_s)));
    }
    shown->resize(wish.size);
    (void)shown->grab(); // the first picture makes the map request its tiles
    if (!waitUntil([&] { return window.isSettled() && drawn(*shown); }))
        return complain(u"the picture was not ready in time"_s);
    if (shown->size() != wish.size)
        return complain(u"this page needs at least %1x%2"_s.arg(shown->width()).arg(shown->height()));
    if (!shown->grab().save(wish.file, "PNG"))
        return complain(u"cannot write %1"_s.arg(wish.file));
    return true;
}

} // namespace shardscope::ui
