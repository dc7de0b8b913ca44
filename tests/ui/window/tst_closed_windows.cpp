// SPDX-License-Identifier: Apache-2.0
// Pages in windows of their own after their checkpoint was closed, and the window while jobs end.
#include "tests/ui/pages/broken_sample.h"
#include "tests/ui/ui_tests.h"
#include "tests/ui/window_fixture.h"
#include "ui/pages/overview_page.h"
#include "ui/shell/page_window.h"
#include "ui/widgets/filter_field.h"
#include "ui/widgets/message_bar.h"

#include <QAbstractButton>
#include <QAbstractItemView>
#include <QAction>
#include <QDockWidget>
#include <QFileDialog>
#include <QLabel>
#include <QLineEdit>
#include <QListWidget>
#include <QMessageBox>
#include <QPointer>
#include <QPushButton>
#include <QTabWidget>
#include <QTest>
#include <QToolButton>

#include <atomic>
#include <thread>

using namespace Qt::StringLiterals;
using namespace shardscope;
using namespace shardscope::ui;

namespace {

PageWindow* openOwn(WindowFixture& ui, const QString& page)
{
    ui.window().showPage(page);
    ui.window().openPageWindow();
    const auto windows = ui.window().findChildren<PageWindow*>();
    return windows.isEmpty() ? nullptr : windows.last();
}

/// Presses every button and every navigation key, on any page.
void useEverything(QWidget* page)
{
    const auto buttons = page->findChildren<QAbstractButton*>();
    for (QPointer<QAbstractButton> button : buttons) {
        const auto* tool = qobject_cast<QToolButton*>(button);
        const bool opensMenu = tool != nullptr && tool->menu() != nullptr; // would wait for a choice
        if (button && button->isVisible() && button->isEnabled() && !opensMenu)
            QTest::mouseClick(button, Qt::LeftButton);
    }
    const auto views = page->findChildren<QAbstractItemView*>();
    for (QPointer<QAbstractItemView> view : views) {
        if (!view || !view->isVisible())
            continue;
        QTest::mouseClick(view->viewport(), Qt::LeftButton, {}, QPoint(20, 10));
        for (const Qt::Key key : {Qt::Key_Down, Qt::Key_Up, Qt::Key_Return})
            QTest::keyClick(view, key);
    }
    const auto actions = page->findChildren<QAction*>();
    for (QPointer<QAction> action : actions)
        if (action && action->isEnabled() && action->menu() == nullptr
            && !action->shortcut().matches(Qt::CTRL | Qt::Key_W))
            action->trigger();
}

/// Ends on request, with success or failure.
struct ManualJob {
    std::atomic<int> end{0}; ///< 1: well, 2: with an error, 3: with a result that needs attention
    Job* make()
    {
        return new Job(u"Export"_s, u"somewhere"_s, [this](JobContext& context) -> Result<JobOutcome> {
            while (end == 0 && !context.cancelled())
                std::this_thread::yield();
            if (context.cancelled())
                return fail(ErrorCode::Cancelled, "cancelled");
            if (end == 2)
                return fail(ErrorCode::NoSpace, "the disk is full", "/somewhere");
            return JobOutcome{u"Done"_s, {}, end == 3};
        });
    }
};

void answer(WindowFixture& ui, QMessageBox::ButtonRole role)
{
    QTRY_VERIFY(ui.find<QMessageBox>("closeQuestion") != nullptr);
    auto* box = ui.find<QMessageBox>("closeQuestion");
    for (QAbstractButton* button : box->buttons())
        if (box->buttonRole(button) == role)
            QTest::mouseClick(button, Qt::LeftButton);
}

} // namespace

class TestClosedWindows : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void aFindingOfAClosedCheckpointLeadsNowhere()
    {
        WindowFixture ui;
        QVERIFY(ui.open(brokenSample(ui)));
        PageWindow* window = openOwn(ui, u"overview"_s);
        QVERIFY(window != nullptr);
        QVERIFY(ui.settle());
        QTRY_VERIFY(window->findChild<QToolButton*>(u"findingMark"_s) != nullptr); // card by card
        QPointer<QToolButton> mark = window->findChild<QToolButton*>(u"findingMark"_s);
        ui.window().session().close();
        if (mark)
            QTest::mouseClick(mark, Qt::LeftButton);
        QVERIFY(window->findChild<QToolButton*>(u"findingMark"_s) == nullptr);
        QVERIFY(window->findChild<QLabel*>(u"overviewEmpty"_s)->isVisible());
        QCOMPARE(window->findChild<QListWidget*>(u"tagList"_s)->count(), 0);
        // A late click on a slow machine must not crash the window.
        Q_EMIT static_cast<OverviewPage*>(window->page())->placeRequested(Place("anything"));
        QVERIFY(ui.checkpoint() == nullptr);
    }

    void everyPageOutlivesItsCheckpoint_data()
    {
        QTest::addColumn<QString>("page");
        for (const PageEntry& page : pageList())
            QTest::newRow(qPrintable(page.name)) << page.name;
    }

    void everyPageOutlivesItsCheckpoint()
    {
        QFETCH(QString, page);
        WindowFixture ui;
        QVERIFY(ui.open(brokenSample(ui)));
        ui.window().selection().selectParam(ParamId{1});
        PageWindow* window = openOwn(ui, page);
        QVERIFY(window != nullptr);
        QVERIFY(ui.settle());
        ui.window().session().close();
        useEverything(window->page());
        QVERIFY(ui.settle());
        // From another checkpoint with other ids.
        QVERIFY(ui.open(samplePath("stage0-fp32")));
        useEverything(window->page());
        QVERIFY(ui.settle());
        QVERIFY(ui.checkpoint() != nullptr);
    }

    void goToFindsPlacesInWhatIsOpen()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero3-w4")));
        ui.window().actionSet()[ActionId::Find]->trigger();
        auto* field = ui.find<FilterField>("filterField");
        const QString last = QString::fromStdString(ui.checkpoint()->params.back().name);
        QTest::keyClicks(field, last);
        QVERIFY(ui.settle());
        QVERIFY(ui.open(samplePath("zero2-w2"))); // as by a click on a tag of a page in a window of its own
        field->setFocus();
        QTest::keyClick(field, Qt::Key_Return);
        const ParamId param = ui.window().selection().current().param;
        QVERIFY(param == kNoParam || index(param) < ui.checkpoint()->params.size());
        if (param != kNoParam)
            QCOMPARE(QString::fromStdString(ui.checkpoint()->params[index(param)].name), last);
    }

    void closesWhenDone()
    {
        WindowFixture ui;
        ManualJob job;
        ui.window().jobs().add(job.make());
        QVERIFY(!ui.window().close());
        answer(ui, QMessageBox::AcceptRole);
        QVERIFY(ui.window().isVisible());
        job.end = 1;
        QTRY_VERIFY(!ui.window().isVisible());
    }

    void quittingAsksBeforeAnyWindowIsClosed()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero3-w4")));
        const QPointer<MainWindow> second = ui.window().openNewWindow();
        second->openPath(samplePath("zero2-w2"));
        QTRY_VERIFY_WITH_TIMEOUT(second->session().checkpoint() && second->isSettled(), 30'000);
        ManualJob job;
        second->jobs().add(job.make());
        const auto asked = [&] { return second->findChild<QMessageBox*>(u"closeQuestion"_s); };
        const auto choose = [&](QMessageBox::ButtonRole role) {
            for (QAbstractButton* button : asked()->buttons())
                if (asked()->buttonRole(button) == role)
                    return button->click();
        };
        ui.window().actionSet()[ActionId::Quit]->trigger();
        QTRY_VERIFY(asked() != nullptr);
        QVERIFY(ui.window().isVisible() && second->isVisible());
        choose(QMessageBox::RejectRole);
        QTRY_VERIFY(asked() == nullptr);
        QVERIFY(ui.window().isVisible() && second->isVisible());

        ui.window().actionSet()[ActionId::Quit]->trigger();
        QTRY_VERIFY(asked() != nullptr);
        choose(QMessageBox::AcceptRole);
        QVERIFY(ui.window().isVisible() && second->isVisible());
        job.end = 1;
        QTRY_VERIFY(second.isNull() && !ui.window().isVisible());
        QCOMPARE(ui.settings().opened().size(), 2);
    }

    void aWindowThatIsClosedKeepsTheOthersForTheNextStart()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero3-w4")));
        const QPointer<MainWindow> second = ui.window().openNewWindow();
        second->openPath(samplePath("zero2-w2"));
        QTRY_VERIFY_WITH_TIMEOUT(second->session().checkpoint() && second->isSettled(), 30'000);
        QVERIFY(second->close());
        QTRY_VERIFY(second.isNull());
        QStringList paths;
        for (const OpenedEntry& entry : ui.settings().opened())
            paths.append(entry.path);
        QVERIFY2(paths.contains(samplePath("zero3-w4")), qPrintable(paths.join(u' ')));
    }

    void aFailureKeepsTheWindowOpen_data()
    {
        QTest::addColumn<int>("end");
        QTest::addColumn<QString>("says");
        QTest::newRow("failed") << 2 << u"the disk is full"_s;
        QTest::newRow("ended with a problem") << 3 << u"Done"_s;
    }

    void aFailureKeepsTheWindowOpen()
    {
        QFETCH(int, end);
        QFETCH(QString, says);
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero2-w2")));
        ManualJob job;
        ManualJob other;
        ui.window().jobs().add(job.make());
        ui.window().jobs().add(other.make());
        QVERIFY(!ui.window().close());
        answer(ui, QMessageBox::AcceptRole);
        job.end = end;
        QTRY_COMPARE(ui.window().jobs().activeCount(), 1);
        other.end = 1;
        QTRY_COMPARE(ui.window().jobs().activeCount(), 0);
        QCoreApplication::processEvents();
        QVERIFY(ui.window().isVisible());
        QStringList said;
        for (const MessageBar* bar : ui.window().findChildren<MessageBar*>())
            if (bar->isVisible())
                said.append(bar->text());
        QVERIFY2(said.join(u'\n').contains(says), qPrintable(said.join(u'\n')));
        QVERIFY(ui.find<QDockWidget>("jobsDock")->isVisible());
        // Closing once more closes: the failure was shown.
        QVERIFY(ui.window().close());
    }
};

SHARDSCOPE_UI_TEST(TestClosedWindows, WithDisplay)
#include "tst_closed_windows.moc"
