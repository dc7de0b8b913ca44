// SPDX-License-Identifier: Apache-2.0
// Several checkpoints in one window, and the tabs that lead from one to another.
#include "tests/ui/ui_tests.h"
#include "tests/ui/window_fixture.h"
#include "ui/shell/checkpoint_bar.h"
#include "ui/style/app_style.h"
#include "ui/widgets/elided_label.h"
#include "ui/widgets/filter_field.h"
#include "ui/widgets/message_bar.h"

#include <QAction>
#include <QDir>
#include <QMenu>
#include <QTabWidget>
#include <QToolButton>

using namespace shardscope;
using namespace shardscope::ui;
using namespace Qt::StringLiterals;

namespace {

CheckpointBar& barOf(WindowFixture& ui)
{
    return *ui.find<CheckpointBar>("checkpointTabs");
}

QString pageOf(WindowFixture& ui)
{
    return ui.find<QTabWidget>("pageTabs")->currentWidget()->objectName();
}

void savePicture(WindowFixture& ui, const QString& name)
{
    if (const QString folder = qEnvironmentVariable("SHARDSCOPE_PICTURES"); !folder.isEmpty())
        ui.window().grab().save(folder + u'/' + name);
}

} // namespace

class TestOpenCheckpoints : public QObject
{
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() { QApplication::setStyle(new AppStyle); }

    void theTabsAreHiddenForOne()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero2-w2")));
        QCOMPARE(barOf(ui).count(), 1);
        QVERIFY(!barOf(ui).isVisible());
        QVERIFY(!ui.window().actionSet()[ActionId::NextOpen]->isEnabled());
        QVERIFY(ui.open(samplePath("zero3-w4")));
        QVERIFY(barOf(ui).isVisible());
        QCOMPARE(barOf(ui).count(), 2);
        QCOMPARE(barOf(ui).currentIndex(), 1);
        QVERIFY(barOf(ui).tabText(0).contains(u"zero2-w2"_s));
        QVERIFY(barOf(ui).tabToolTip(1).contains(samplePath("zero3-w4")));
        savePicture(ui, u"open-checkpoints.png"_s);
    }

    /// In place of what is shown; the detected kind is one of the choices.
    void aKindIsAskedFor()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero2-universal-w2")));
        QCOMPARE(ui.checkpoint()->kind, CheckpointKind::Zero2);
        auto* menu = ui.find<QMenu>("kindMenu");
        const auto choose = [&](const QString& text) {
            Q_EMIT menu->aboutToShow();
            for (QAction* action : menu->actions()) {
                if (action->text() == text) {
                    const bool was = action->isChecked();
                    action->trigger();
                    return ui.settle() && !was;
                }
            }
            return false;
        };
        QVERIFY(choose(u"universal checkpoint"_s));
        QCOMPARE(ui.checkpoint()->kind, CheckpointKind::Universal);
        QCOMPARE(barOf(ui).count(), 1);
        QVERIFY(ui.window().viewCommand().contains(u"--kind universal"_s));
        QVERIFY(choose(u"As &Detected"_s));
        QCOMPARE(ui.checkpoint()->kind, CheckpointKind::Zero2);
        QVERIFY(!ui.window().viewCommand().contains(u"--kind"_s));
        // What is shown stays where the files are of another kind.
        QVERIFY(choose(u"ZeRO-3"_s));
        QCOMPARE(ui.checkpoint()->kind, CheckpointKind::Zero2);
        const auto* message = ui.find<MessageBar>("windowMessages");
        QVERIFY(message->isVisible());
        QVERIFY2(message->text().contains(u"zero3"_s) && message->text().contains(u"Open As"_s),
            qPrintable(message->text()));
        QVERIFY(choose(u"ZeRO-1"_s));
        QCOMPARE(ui.checkpoint()->kind, CheckpointKind::Zero1);
        QVERIFY(ui.find<QWidget>("overviewPage") != nullptr);
    }

    /// Selection, page and filter of each are as they were left, and nothing is read again.
    void eachIsAsItWasLeft()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero2-w2")));
        const CheckpointPtr first = ui.checkpoint();
        ui.window().selection().selectParam(ParamId{2});
        QVERIFY(ui.window().showPage(u"parameters"_s));
        ui.find<FilterField>("filterField")->setText(u"weight"_s);
        QVERIFY(ui.settle());
        QVERIFY(ui.open(samplePath("zero3-w4")));
        const CheckpointPtr second = ui.checkpoint();
        QVERIFY(ui.window().showPage(u"map"_s));
        QCOMPARE(ui.find<FilterField>("filterField")->text(), QString());

        auto* hover = ui.find<ElidedLabel>("statusHover");
        Q_EMIT ui.window().selection().hoverTextChanged(u"a place in the second"_s);
        QCOMPARE(hover->text(), u"a place in the second"_s);
        barOf(ui).setCurrentIndex(0); // as a click does
        QCOMPARE(ui.checkpoint(), first);
        QCOMPARE(hover->text(), QString());
        QVERIFY(ui.settle());
        QCOMPARE(pageOf(ui), u"parametersPage"_s);
        QCOMPARE(ui.find<FilterField>("filterField")->text(), u"weight"_s);
        QCOMPARE(ui.window().selection().current().param, ParamId{2});
        QVERIFY(ui.window().windowTitle().contains(u"zero2-w2"_s));

        QTest::keyClick(&ui.window(), Qt::Key_PageDown, Qt::ControlModifier);
        QCOMPARE(ui.checkpoint(), second);
        QVERIFY(ui.settle());
        QCOMPARE(pageOf(ui), u"mapPage"_s);
        QTest::keyClick(&ui.window(), Qt::Key_PageUp, Qt::ControlModifier);
        QCOMPARE(ui.checkpoint(), first);
        QVERIFY(ui.settle());
    }

    void theSameCheckpointKeepsItsTab()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero2-w2")));
        const QString tag = QString::fromStdString(ui.checkpoint()->tagFolder.native());
        QVERIFY(ui.open(samplePath("zero3-w4")));
        QVERIFY(ui.open(tag)); // the folder of the tag, not of the run
        QCOMPARE(barOf(ui).count(), 2);
        QCOMPARE(barOf(ui).currentIndex(), 0);
        ui.window().session().reload();
        QVERIFY(ui.settle());
        QCOMPARE(barOf(ui).count(), 2);
        QCOMPARE(barOf(ui).entry(0).read.checkpoint, ui.checkpoint());
    }

    void closingLeadsToTheNeighbour()
    {
        WindowFixture ui;
        for (const char* name : {"zero2-w2", "zero3-w4", "zero1-w2"}) {
            QVERIFY(ui.open(samplePath(name)));
            QVERIFY(ui.window().showPage(u"map"_s));
        }
        auto* button = qobject_cast<QToolButton*>(barOf(ui).tabButton(0, QTabBar::RightSide));
        QTest::mouseClick(button, Qt::LeftButton); // of one that is not shown
        QTRY_COMPARE(barOf(ui).count(), 2);
        QVERIFY(ui.window().windowTitle().contains(u"zero1-w2"_s));
        QTest::keyClick(&ui.window(), Qt::Key_W, Qt::ControlModifier);
        QVERIFY(ui.settle());
        QVERIFY(ui.window().windowTitle().contains(u"zero3-w4"_s));
        QVERIFY(!barOf(ui).isVisible());
        for (const RecentEntry& entry : ui.settings().recent())
            QVERIFY2(entry.page == u"map"_s, qPrintable(entry.path));
        std::weak_ptr<const Checkpoint> last = ui.checkpoint();
        QTest::keyClick(&ui.window(), Qt::Key_W, Qt::ControlModifier);
        QVERIFY(ui.settle());
        QCOMPARE(ui.checkpoint(), nullptr);
        QCOMPARE(barOf(ui).count(), 0);
        QTRY_VERIFY(last.expired());
    }

    void leavingStopsWhatIsStillBeingRead()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero2-w2")));
        QVERIFY(ui.open(samplePath("zero3-w4")));
        ui.window().openPath(samplePath("zero1-w2"));
        QVERIFY(ui.window().session().isOpening());
        barOf(ui).setCurrentIndex(0);
        QVERIFY(!ui.window().session().isOpening());
        QVERIFY(ui.settle());
        QVERIFY(ui.window().windowTitle().contains(u"zero2-w2"_s));
        QVERIFY(barOf(ui).count() <= 3);
    }

    void aFailedOpeningChangesNothing()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero2-w2")));
        QVERIFY(ui.open(samplePath("zero3-w4")));
        ui.window().openPath(ui.folder(u"nothing here"_s));
        QVERIFY(ui.settle());
        QCOMPARE(barOf(ui).count(), 2);
        QVERIFY(ui.window().windowTitle().contains(u"zero3-w4"_s));
    }

    /// Eight of them, in a window of this width.
    void tabsStayReadable_data()
    {
        QTest::addColumn<QSize>("size");
        QTest::addColumn<bool>("isOneRun");
        QTest::newRow("runs, 1366") << QSize(1366, 768) << false;
        QTest::newRow("runs, 900") << QSize(900, 600) << false;
        QTest::newRow("tags, 1366") << QSize(1366, 768) << true;
        QTest::newRow("tags, 900") << QSize(900, 600) << true;
    }

    void tabsStayReadable()
    {
        QFETCH(QSize, size);
        QFETCH(bool, isOneRun);
        WindowFixture ui;
        ui.window().resize(size);
        const QString run = ui.folder(u"a-run-with-a-long-name-of-its-own"_s);
        QStringList own; // what differs
        for (size_t i = 0; i < CheckpointBar::kMostOpen; ++i) {
            const QString tag = u"global_step%1"_s.arg(1000 + 250 * i);
            const QString folder
                = isOneRun ? run : ui.folder(u"llama-7b-continued-pretraining-lr%1e-5"_s.arg(i));
            QDir().mkpath(folder);
            const QString from = samplePath("zero2-w2") % u"/global_step3"_s;
            std::filesystem::copy(from.toStdString(), QString(folder % u'/' % tag).toStdString(),
                std::filesystem::copy_options::recursive);
            own.append(isOneRun ? QString(u"step%1"_s.arg(1000 + 250 * i)) : u"lr%1e-5"_s.arg(i));
            QVERIFY(ui.open(folder % u'/' % tag));
        }
        CheckpointBar& bar = barOf(ui);
        QCOMPARE(static_cast<size_t>(bar.count()), CheckpointBar::kMostOpen);
        for (int tab = 0; tab < bar.count(); ++tab) {
            QVERIFY2(bar.shownText(tab).contains(own[tab]), qPrintable(bar.shownText(tab)));
            QVERIFY(bar.tabToolTip(tab).contains(bar.name(tab)));
        }
        // The tab that is shown is in sight, whichever it is.
        for (int step = 0; step < bar.count(); ++step) {
            QTest::keyClick(&ui.window(), Qt::Key_PageDown, Qt::ControlModifier);
            QVERIFY(ui.settle());
            QVERIFY(bar.rect().contains(bar.tabRect(bar.currentIndex())));
            QVERIFY(ui.window().windowTitle().contains(bar.name(bar.currentIndex())));
        }
        savePicture(ui, u"tabs-%1.png"_s.arg(QString::fromLatin1(QTest::currentDataTag())));
    }

    /// The menu has whole names, and is reached by key.
    void theMenuListsThem()
    {
        WindowFixture ui;
        auto* menu = ui.find<QMenu>("openMenu");
        QVERIFY(menu != nullptr);
        Q_EMIT menu->aboutToShow();
        QVERIFY(!menu->actions().first()->isEnabled()); // it says that there is none
        QVERIFY(ui.open(samplePath("zero2-w2")));
        QVERIFY(ui.open(samplePath("zero3-w4")));
        Q_EMIT menu->aboutToShow();
        QCOMPARE(menu->actions().size(), 2);
        QVERIFY(menu->actions()[0]->text().contains(barOf(ui).name(0)));
        QVERIFY(!menu->actions()[0]->isChecked() && menu->actions()[1]->isChecked());
        menu->actions()[0]->trigger();
        QVERIFY(ui.settle());
        QVERIFY(ui.window().windowTitle().contains(u"zero2-w2"_s));
        QCOMPARE(barOf(ui).currentIndex(), 0);
    }

    void theOneLeftLongestAgoGivesWay()
    {
        WindowFixture ui;
        const QStringList names{u"zero2-w2"_s, u"zero3-w4"_s, u"zero1-w2"_s, u"experts-w4"_s, u"elastic-w3"_s,
            u"muon-w3"_s, u"pipeline-w4"_s, u"slices-w4"_s};
        QCOMPARE(static_cast<size_t>(names.size()), CheckpointBar::kMostOpen);
        for (const QString& name : names)
            QVERIFY(ui.open(samplePath(qPrintable(name))));
        QTest::keyClick(&ui.window(), Qt::Key_PageDown, Qt::ControlModifier); // to the first
        QVERIFY(ui.settle());
        QVERIFY(ui.open(samplePath("stage0-bf16")));
        QCOMPARE(static_cast<size_t>(barOf(ui).count()), CheckpointBar::kMostOpen);
        QVERIFY(barOf(ui).tabText(0).contains(u"zero2-w2"_s));
        QVERIFY(barOf(ui).tabText(1).contains(u"zero1-w2"_s));
    }
};

SHARDSCOPE_UI_TEST(TestOpenCheckpoints, WithDisplay)
#include "tst_open_checkpoints.moc"
