// SPDX-License-Identifier: Apache-2.0
// How long the window's GUI thread is kept by single events: bench_window [--opening|--dialogs] CHECKPOINT
// [OTHER]. Opens it with each page in front, reads it again, switches to the other one, closes it, goes
// through all pages, scrolls, filters, sorts, hovers. --opening: only the first four. Prints figures only.
#include "tests/bench/event_watcher.h"

#include "ui/dialogs/export_dialog.h"
#include "ui/dialogs/reshard_dialog.h"
#include "ui/dialogs/reshard_form.h"
#include "ui/layoutmap/layout_map_view.h"
#include "ui/models/model_roles.h"
#include "ui/pages/explorer_panel.h"
#include "ui/pages/findings_page.h"
#include "ui/pages/map_page.h"
#include "ui/pages/overview_page.h"
#include "ui/pages/parameters_page.h"
#include "ui/shell/main_window.h"
#include "ui/style/app_style.h"
#include "ui/tensorview/heat_map.h"
#include "ui/tensorview/tensor_grid.h"
#include "ui/text/text.h"
#include "ui/widgets/filter_field.h"

#include <QAction>
#include <QElapsedTimer>
#include <QKeyEvent>
#include <QLineEdit>
#include <QMouseEvent>
#include <QScrollBar>
#include <QTableView>
#include <QTemporaryDir>
#include <QTreeView>
#include <QWheelEvent>

#include <algorithm>
#include <cstdio>

using namespace Qt::StringLiterals;
using namespace shardscope::bench;
using namespace shardscope::ui;

namespace {

constexpr double kPrinted = 10; ///< milliseconds

class Visit
{
public:
    Visit(EventWatcher& watcher, MainWindow& window)
        : m_watcher(watcher)
        , m_window(window)
    {
    }

    /// One action of a user, and everything that follows from it.
    void step(const QString& name, const std::function<void()>& work)
    {
        m_watcher.begin(name);
        m_watcher.call(name, work);
        settle();
    }

    /// Opening, and what shows another checkpoint in place of one.
    void openAll(const QString& path, const QString& other)
    {
        step(u"open"_s, [&] { m_window.openPath(path); });
        for (const char* name : {"map", "parameters", "findings", "overview"}) {
            const QString page = QString::fromLatin1(name);
            step(u"close"_s, [&] { m_window.session().close(); });
            step(u"open: "_s % page % u" in front"_s, [&] {
                m_window.showPageWhenOpen(page);
                m_window.openPath(path);
            });
        }
        step(u"reload"_s, [&] { m_window.session().reload(); });
        if (other.isEmpty())
            return;
        step(u"open: another one"_s, [&] { m_window.openPath(other); });
        for (const char* name : {"overview", "map", "parameters", "overview"}) {
            m_window.showPage(QString::fromLatin1(name));
            settle();
            step(u"switch"_s, [&] { m_window.actionSet()[ActionId::NextOpen]->trigger(); });
        }
        step(u"close one of two"_s, [&] { m_window.actionSet()[ActionId::Close]->trigger(); });
        if (m_window.session().path() != toPath(path))
            step(u"open"_s, [&] { m_window.openPath(path); });
    }

    void use(const QString& other)
    {
        for (const bool again : {false, true}) {
            for (const char* name : {"map", "parameters", "tensor", "files", "compare", "overview"}) {
                const QString page = QString::fromLatin1(name);
                step(page % (again ? u" page, again"_s : u" page, first time"_s),
                    [&] { m_window.showPage(page); });
            }
        }
        useParameters();
        useFind();
        useMap();
        useTensor();
        useExplorer();
        useDialogs();
        if (!other.isEmpty())
            step(u"compare"_s, [&] { m_window.compareWith(other, true); });
    }

    void useDialogs()
    {
        ReshardDialog* reshard = planIn(u"reshard: opening"_s, &MainWindow::showReshardDialog);
        if (reshard != nullptr) {
            const auto maps = reshard->findChildren<LayoutMapView*>();
            m_watcher.runUntil([&] {
                return std::none_of(maps.begin(), maps.end(), [](const auto* map) { return map->isBusy(); });
            });
            m_watcher.begin(u"reshard: hovering"_s);
            for (LayoutMapView* map : maps) {
                for (int i = 0; i < 100; ++i) {
                    MapCanvas* canvas = map->canvas();
                    const QPointF at(canvas->width() * i / 100.0, canvas->height() * (i % 10) / 10.0);
                    QMouseEvent move(
                        QEvent::MouseMove, at, canvas->mapToGlobal(at), Qt::NoButton, Qt::NoButton, {});
                    QCoreApplication::sendEvent(canvas, &move);
                    QCoreApplication::processEvents();
                }
            }
            m_watcher.begin(u"reshard: another number of GPUs"_s);
            for (const uint32_t ranks : {48U, 96U}) {
                m_watcher.call(u"setWorldSize"_s, [&] { reshard->form()->setWorldSize(ranks); });
                for (int i = 0; i < 200; ++i)
                    QCoreApplication::processEvents(QEventLoop::AllEvents, 10);
            }
            reshard->reject();
        }
        if (ExportDialog* exports = planIn(u"export: opening"_s, &MainWindow::showExportDialog))
            exports->reject();
        m_watcher.begin(u"findings"_s);
        m_watcher.call(u"findings"_s, [&] { m_window.showPage(u"findings"_s); });
        settle();
    }

private:
    void key(QWidget* to, Qt::Key key, const QString& text = {})
    {
        QKeyEvent press(QEvent::KeyPress, key, Qt::NoModifier, text);
        QCoreApplication::sendEvent(to, &press);
        QKeyEvent release(QEvent::KeyRelease, key, Qt::NoModifier, text);
        QCoreApplication::sendEvent(to, &release);
        QCoreApplication::processEvents();
    }

    void wheel(QWidget* over, int delta, Qt::KeyboardModifiers modifiers = {})
    {
        const QPointF at = over->rect().center();
        QWheelEvent event(
            at, over->mapToGlobal(at), {}, {0, delta}, Qt::NoButton, modifiers, Qt::NoScrollPhase, false);
        QCoreApplication::sendEvent(over, &event);
        QCoreApplication::processEvents();
    }

    /// Until nothing is under way, but for what may take minutes and that no user waits for: what can be done
    /// next, and each repair, is planned.
    void settle()
    {
        constexpr int kPlansGoOn = 5'000; // milliseconds
        QElapsedTimer passed;
        passed.start();
        m_watcher.runUntil([&] {
            return m_window.isSettled()
                || (passed.hasExpired(kPlansGoOn) && !m_window.session().isOpening() && areOtherPagesCalm());
        });
    }

    [[nodiscard]] bool areOtherPagesCalm() const
    {
        const auto pages = m_window.findChildren<Page*>();
        return std::none_of(pages.begin(), pages.end(), [](const Page* page) {
            return qobject_cast<const OverviewPage*>(page) == nullptr
                && qobject_cast<const FindingsPage*>(page) == nullptr && page->isBusy();
        });
    }

    void useParameters()
    {
        m_window.showPage(u"parameters"_s);
        settle();
        auto* page = m_window.findChild<ParametersPage*>();
        QTableView* table = page->table();
        m_watcher.begin(u"parameters: scrolling"_s);
        for (int i = 0; i < 60; ++i)
            wheel(table->viewport(), -120);
        for (int i = 0; i < 40; ++i)
            key(table, Qt::Key_PageDown);
        key(table, Qt::Key_End);
        settle();
        m_watcher.begin(u"parameters: jumping with the bar"_s);
        QScrollBar* bar = table->verticalScrollBar();
        for (int i = 0; i < 50; ++i) {
            m_watcher.call(u"setValue"_s, [&] { bar->setValue(bar->maximum() / 50 * i); });
            QCoreApplication::processEvents();
        }
        for (const ParamColumn column : {ParamColumn::Bytes, ParamColumn::Shape, ParamColumn::Name})
            step(u"parameters: sorting"_s, [&] { page->sortBy(column, Qt::DescendingOrder); });
        for (const QString& text : {u"m"_s, u"mlp"_s, u"layer:7"_s, u"/(up|down)/"_s, QString()})
            step(u"parameters: filtering"_s, [&] { page->setFilter(text); });
    }

    void useFind()
    {
        auto* field = m_window.findChild<FilterField*>();
        for (const QString& text : {u"l7 wq"_s, u"rank 31"_s, u"layer 9"_s, u"has:finding"_s}) {
            m_watcher.begin(u"find: typing"_s);
            field->setFocus();
            for (const QChar letter : text) {
                QKeyEvent press(QEvent::KeyPress, Qt::Key_unknown, Qt::NoModifier, letter);
                QCoreApplication::sendEvent(field, &press);
                settle();
            }
            key(field, Qt::Key_Escape);
            field->clear();
            settle();
        }
    }

    void useMap()
    {
        m_window.showPage(u"map"_s);
        settle();
        auto* canvas = m_window.findChild<MapPage*>()->findChild<MapCanvas*>();
        m_watcher.begin(u"map: hovering"_s);
        for (int i = 0; i < 300; ++i) {
            const QPointF at(canvas->width() * (i % 100) / 100.0, canvas->height() * (i / 3) / 100.0);
            QMouseEvent move(QEvent::MouseMove, at, canvas->mapToGlobal(at), Qt::NoButton, Qt::NoButton, {});
            QCoreApplication::sendEvent(canvas, &move);
            QCoreApplication::processEvents();
        }
        m_watcher.begin(u"map: zooming and scrolling"_s);
        for (int i = 0; i < 40; ++i)
            wheel(canvas, i < 25 ? 120 : -120, Qt::ControlModifier);
        for (int i = 0; i < 20; ++i)
            wheel(canvas, -120);
        settle();
        auto* view = m_window.findChild<MapPage*>()->mapView();
        step(u"map: files"_s, [&] { view->setFilesShown(true); });
        settle();
        m_watcher.begin(u"map: moving over files"_s);
        for (int i = 0; i < 200; ++i) {
            const QPointF at(canvas->width() * (i % 100) / 100.0, 5 + 4 * i);
            QMouseEvent move(QEvent::MouseMove, at, canvas->mapToGlobal(at), Qt::NoButton, Qt::NoButton, {});
            QCoreApplication::sendEvent(canvas, &move);
            if (i % 4 == 0)
                key(canvas, i < 100 ? Qt::Key_Down : Qt::Key_Plus);
        }
        for (int i = 0; i < 20; ++i)
            key(canvas, Qt::Key_PageDown);
        view->setFilesShown(false);
        settle();
        m_watcher.begin(u"map: stepping by keys"_s);
        for (int i = 0; i < 40; ++i)
            key(canvas, i % 2 == 0 ? Qt::Key_Right : Qt::Key_BracketRight);
        settle();
    }

    shardscope::ParamId largestParam()
    {
        const auto& params = m_window.session().checkpoint()->params;
        const auto largest = std::max_element(params.begin(), params.end(),
            [](const auto& a, const auto& b) { return a.elements < b.elements; });
        return shardscope::ParamId{static_cast<uint32_t>(largest - params.begin())};
    }

    void useTensor()
    {
        step(u"tensor: selecting"_s, [&] {
            m_window.showPage(u"tensor"_s);
            m_window.selection().selectParam(largestParam());
        });
        m_watcher.begin(u"tensor: moving in the grid"_s);
        auto* grid = m_window.findChild<TensorGrid*>();
        for (int i = 0; i < 40; ++i)
            key(grid, i % 2 == 0 ? Qt::Key_PageDown : Qt::Key_Right);
        settle();
        m_watcher.begin(u"tensor: moving in the heat map"_s);
        auto* heat = m_window.findChild<HeatMap*>();
        for (int i = 0; i < 40; ++i)
            key(heat, i % 2 == 0 ? Qt::Key_PageDown : Qt::Key_Right);
        settle();
    }

    void useExplorer()
    {
        auto* tree = m_window.findChild<ExplorerPanel*>()->findChild<QTreeView*>();
        for (int row = 0; row < tree->model()->rowCount(); ++row)
            step(u"explorer: opening branches"_s, [&] { tree->expand(tree->model()->index(row, 0)); });
        m_watcher.begin(u"explorer: walking"_s);
        for (int i = 0; i < 60; ++i)
            key(tree, Qt::Key_Down);
        settle();
    }

    /// Opens a dialog that plans, until its plan and maps are shown.
    template <class Dialog>
    Dialog* planIn(const QString& name, Dialog* (MainWindow::*open)())
    {
        Dialog* dialog = nullptr;
        m_watcher.begin(name);
        m_watcher.call(name, [&] { dialog = (m_window.*open)(); });
        m_watcher.runUntil(
            [&] { return dialog == nullptr || dialog->preview().plan || dialog->preview().problem; });
        for (int i = 0; i < 40; ++i)
            QCoreApplication::processEvents(QEventLoop::AllEvents, 5);
        return dialog;
    }

    EventWatcher& m_watcher;
    MainWindow& m_window;
};

} // namespace

int main(int argc, char** argv)
{
    EventWatcher application(argc, argv);
    QStringList paths = QCoreApplication::arguments().mid(1);
    const bool openingOnly = paths.removeAll(u"--opening"_s) > 0;
    const bool dialogsOnly = paths.removeAll(u"--dialogs"_s) > 0;
    if (paths.isEmpty()) {
        std::fprintf(stderr, "bench_window [--opening|--dialogs] CHECKPOINT [OTHER]\n");
        return 2;
    }
    QApplication::setStyle(new AppStyle);
    const QTemporaryDir settingsFolder;
    Settings settings(settingsFolder.path());
    Theme theme;
    theme.setMode(ThemeMode::Light);
    application.begin(u"start"_s);
    std::unique_ptr<MainWindow> window;
    application.call(u"making the window"_s, [&] {
        window = std::make_unique<MainWindow>(shardscope::io::realFileSystem(), theme, settings);
        window->resize(1440, 900);
    });
    application.call(u"show"_s, [&] { window->show(); });
    application.runUntil([&] { return window->isSettled(); });
    const QString other = paths.size() > 1 ? paths[1] : QString();
    Visit visit(application, *window);
    if (dialogsOnly) {
        visit.step(u"open"_s, [&] { window->openPath(paths[0]); });
        visit.useDialogs();
    } else {
        visit.openAll(paths[0], other);
        if (!openingOnly)
            visit.use(other);
    }
    application.print(kPrinted);
    application.printLongest(u"open"_s);
    std::fflush(stdout);
    window.reset();
    return 0;
}
