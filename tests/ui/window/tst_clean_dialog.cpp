// SPDX-License-Identifier: Apache-2.0
// The dialog that lists and removes what interrupted jobs left.
#include "core/io/forwarding_file_system.h"
#include "tests/ui/ui_tests.h"
#include "tests/ui/window_fixture.h"
#include "ui/dialogs/clean_dialog.h"
#include "ui/style/app_style.h"
#include "ui/text/text.h"
#include "ui/widgets/message_bar.h"

#include <QDialogButtonBox>
#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QLabel>
#include <QLineEdit>
#include <QPointer>
#include <QProcess>
#include <QPushButton>
#include <QScopeGuard>
#include <QTest>
#include <QTreeWidget>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

using namespace Qt::StringLiterals;
using namespace shardscope;
using namespace shardscope::ui;

namespace {

/// For people to look at.
void keepPicture(QWidget& widget, const QString& name)
{
    if (const QByteArray to = qgetenv("SHARDSCOPE_PICTURES"); !to.isEmpty()) {
        QCoreApplication::processEvents();
        QVERIFY(widget.grab().save(QString::fromLocal8Bit(to) % u'/' % name % u".png"_s));
    }
}

/// An unfinished report of a process; its path.
QString unfinished(const QString& folder, const QString& name, qint64 process)
{
    const QString path = u"%1/.%2.partial-%3-1"_s.arg(folder, name).arg(process);
    QFile file(path);
    return file.open(QIODevice::WriteOnly) && file.write("half") == 4 ? path : QString();
}

/// No file is removed until it is let go on.
class HeldRemovals final : public io::ForwardingFileSystem
{
public:
    HeldRemovals()
        : ForwardingFileSystem(io::realFileSystem())
    {
    }
    Status removeFile(const io::Path& path) override
    {
        while (isHeld)
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        if (!refused.empty() && path.native().find(refused) != std::string::npos)
            return fail(ErrorCode::NoPermission, "permission denied", path.native());
        return ForwardingFileSystem::removeFile(path);
    }
    std::atomic<bool> isHeld = false;
    std::string refused; ///< part of the name of a file that cannot be removed; set before any is
};

constexpr qint64 kNoProcess = 999999999;

CleanDialog* listed(WindowFixture& ui)
{
    ui.find<QAction>("actionClean")->trigger();
    auto* dialog = ui.find<CleanDialog>("cleanDialog");
    return dialog != nullptr && QTest::qWaitFor([dialog] { return !dialog->isBusy(); }) ? dialog : nullptr;
}

} // namespace

class TestCleanDialog : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void initTestCase() { QApplication::setStyle(new AppStyle); }

    void whatJobsLeftIsListedAndRemoved()
    {
        WindowFixture ui;
        const QString run = copiedSample("zero3-w4", ui.folder(u"run"_s));
        const QString left = run % u"/.report.html.partial-999999999-1"_s;
        QFile file(left);
        QVERIFY(file.open(QIODevice::WriteOnly) && file.write("half") == 4);
        file.close();
        QVERIFY(QFile::link(ui.folder(u"elsewhere"_s), run % u"/.linked.html.partial-999999998-1"_s));
        QVERIFY(ui.open(run));
        ui.find<QAction>("actionClean")->trigger();
        auto* dialog = ui.find<CleanDialog>("cleanDialog");
        QVERIFY(dialog != nullptr);
        QTRY_VERIFY(!dialog->isBusy());
        auto* list = dialog->findChild<QTreeWidget*>(u"cleanList"_s);
        QCOMPARE(list->topLevelItemCount(), 2);
        keepPicture(*dialog, u"clean"_s);
        QVERIFY(list->topLevelItem(0)->text(1).isEmpty()); // a link is not looked into
        QVERIFY(QFile::exists(left)); // nothing is removed before it was asked for
        auto* remove = dialog->findChild<QPushButton*>(u"cleanRemove"_s);
        QVERIFY(remove->isEnabled());
        QTest::mouseClick(remove, Qt::LeftButton);
        QTRY_VERIFY(!dialog->isBusy());
        QVERIFY(!QFile::exists(left));
        QVERIFY(QFileInfo(run % u"/.linked.html.partial-999999998-1"_s).isSymLink()); // foreign
        QVERIFY(!remove->isEnabled());
        QVERIFY(dialog->findChild<QLabel*>(u"cleanSummary"_s)->text().contains(u"Kept: 1"_s));
        keepPicture(*dialog, u"cleaned"_s);
    }

    void cleaningSaysWhyItCannotLook()
    {
        WindowFixture ui;
        ui.find<QAction>("actionClean")->trigger(); // no checkpoint is open
        auto* dialog = ui.find<CleanDialog>("cleanDialog");
        QVERIFY(dialog != nullptr);
        auto* line = dialog->findChild<QLineEdit*>();
        QVERIFY(line->text().isEmpty());
        QTest::keyClicks(line, ui.folder(u"missing"_s));
        QTRY_VERIFY(!dialog->isBusy() && dialog->findChild<MessageBar*>()->isVisible());
        QVERIFY(!dialog->findChild<QPushButton*>(u"cleanRemove"_s)->isEnabled());
    }

    void namesThatAreNotUtf8OrLookLikeMarkup()
    {
        WindowFixture ui;
        const io::Path run = toPath(ui.folder(u"."_s)) / "run\xff";
        std::filesystem::create_directories(run);
        std::ofstream(run / ".<b>bold<b>.partial-999999999-1") << "half";
        CleanDialog dialog(io::realFileSystem(), ui.theme(), run);
        dialog.show();
        QTRY_VERIFY(!dialog.isBusy());
        const auto* list = dialog.findChild<QTreeWidget*>(u"cleanList"_s);
        QCOMPARE(list->topLevelItemCount(), 1);
        const QString tip = list->topLevelItem(0)->toolTip(0);
        QVERIFY2(tip.contains(u"&lt;b&gt;bold"_s) && !tip.contains(u"<b>"_s), qPrintable(tip));
        QTest::mouseClick(dialog.findChild<QPushButton*>(u"cleanRemove"_s), Qt::LeftButton);
        QTRY_VERIFY(!dialog.isBusy());
        QVERIFY(std::filesystem::is_empty(run));
    }

    void onlyWhatWasListedAsAbandonedIsRemoved()
    {
        WindowFixture ui;
        const QString run = copiedSample("zero3-w4", ui.folder(u"run"_s));
        QProcess job;
        job.start(u"sleep"_s, {u"60"_s});
        QVERIFY(job.waitForStarted());
        const QString abandoned = unfinished(run, u"a.html"_s, kNoProcess);
        const QString changed = unfinished(run, u"b.html"_s, kNoProcess);
        const QString inUse = unfinished(run, u"c.html"_s, job.processId());
        QVERIFY(ui.open(run));
        CleanDialog* dialog = listed(ui);
        QVERIFY(dialog != nullptr);
        auto* list = dialog->findChild<QTreeWidget*>(u"cleanList"_s);
        QCOMPARE(list->topLevelItemCount(), 3);
        QVERIFY(list->topLevelItem(2)->text(3).contains(u"running job"_s));
        job.kill();
        QVERIFY(job.waitForFinished());
        QFile file(changed); // somebody continues it
        QVERIFY(file.open(QIODevice::Append) && file.write("more") == 4);
        file.close();
        auto* remove = dialog->findChild<QPushButton*>(u"cleanRemove"_s);
        QTest::mouseClick(remove, Qt::LeftButton);
        QTRY_VERIFY(!dialog->isBusy());
        QVERIFY(!QFile::exists(abandoned));
        QVERIFY(QFile::exists(changed) && QFile::exists(inUse));
        const QString text = dialog->findChild<QLabel*>(u"cleanSummary"_s)->text();
        QVERIFY2(
            text.contains(u"Removed: 1"_s) && text.contains(u"since it was listed: 2"_s), qPrintable(text));
        // Now they are listed, too.
        QVERIFY(remove->isEnabled());
        QTest::mouseClick(remove, Qt::LeftButton);
        QTRY_VERIFY(!dialog->isBusy());
        QVERIFY(!QFile::exists(changed) && !QFile::exists(inUse));
    }

    void aRemovalThatFailsSaysWhatIsGone()
    {
        HeldRemovals files;
        WindowFixture ui(ThemeMode::Light, files);
        const QString run = copiedSample("zero3-w4", ui.folder(u"run"_s));
        for (const QString& name : {u"a.html"_s, u"b.html"_s, u"c.html"_s})
            QVERIFY(!unfinished(run, name, kNoProcess).isEmpty());
        QVERIFY(ui.open(run));
        const QPointer<CleanDialog> dialog = listed(ui);
        QVERIFY(dialog);
        files.refused = "b.html";
        QTest::mouseClick(dialog->findChild<QPushButton*>(u"cleanRemove"_s), Qt::LeftButton);
        QTRY_VERIFY(!dialog->isBusy());
        const auto* bar = dialog->findChild<MessageBar*>();
        QVERIFY(bar->isVisible());
        const auto gone = 3 - QDir(run).entryList({u"*.partial-*"_s}, QDir::Files | QDir::Hidden).size();
        QVERIFY(gone > 0 && gone < 3);
        QVERIFY2(bar->text().contains(u"%1 of 3 were removed"_s.arg(gone)), qPrintable(bar->text()));
    }

    void aRemovalIsNotCancelledByClosingAndSaysItsResult()
    {
        HeldRemovals files;
        WindowFixture ui(ThemeMode::Light, files);
        const QString run = copiedSample("zero3-w4", ui.folder(u"run"_s));
        const QStringList left{
            unfinished(run, u"a.html"_s, kNoProcess), unfinished(run, u"b.html"_s, kNoProcess)};
        QVERIFY(ui.open(run));
        const QPointer<CleanDialog> dialog = listed(ui);
        QVERIFY(dialog);
        files.isHeld = true;
        const auto letGo = qScopeGuard([&files] {
            if (files.isHeld.exchange(false))
                QTest::qWait(500); // the removal ends before the files do
        });
        QTest::mouseClick(dialog->findChild<QPushButton*>(u"cleanRemove"_s), Qt::LeftButton);
        QVERIFY(!dialog->findChild<QLineEdit*>()->isEnabled());
        dialog->close();
        QVERIFY(dialog && dialog->isHidden() && dialog->isBusy());
        files.isHeld = false;
        QTRY_VERIFY(!dialog);
        QVERIFY(!QFile::exists(left[0]) && !QFile::exists(left[1]));
        const auto bars = ui.window().findChildren<MessageBar*>();
        QVERIFY(std::any_of(bars.begin(), bars.end(), [](const MessageBar* bar) {
            const auto labels = bar->findChildren<QLabel*>();
            return bar->isVisible() && std::any_of(labels.begin(), labels.end(), [](const QLabel* label) {
                return label->text().contains(u"Removed: 2"_s);
            });
        }));
    }
};

SHARDSCOPE_UI_TEST(TestCleanDialog, WithDisplay)
#include "tst_clean_dialog.moc"
