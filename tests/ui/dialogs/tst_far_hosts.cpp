// SPDX-License-Identifier: Apache-2.0
// A checkpoint on another host: a script stands in for ssh, and runs the program with another home folder.
#include "core/far/ssh_config.h"
#include "tests/support/process.h"
#include "tests/ui/dialogs/far_window.h"
#include "tests/ui/ui_tests.h"
#include "ui/dialogs/export_dialog.h"
#include "ui/dialogs/host_dialog.h"
#include "ui/models/model_roles.h"
#include "ui/pages/parameters_page.h"
#include "ui/pages/verdict_panel.h"
#include "ui/tensorview/heat_map.h"
#include "ui/text/text.h"
#include "ui/widgets/message_bar.h"

#include <QClipboard>
#include <QComboBox>
#include <QDir>
#include <QDragEnterEvent>
#include <QElapsedTimer>
#include <QFile>
#include <QLineEdit>
#include <QMimeData>
#include <QPushButton>
#include <QThread>
#include <QTreeWidget>

#include <csignal>

using namespace Qt::StringLiterals;
using namespace shardscope;
using namespace shardscope::ui;

class TestFarHosts : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void everyPageShowsWhatALocalOneShows();
    void opensWhatIsPasted();
    void aDriveOfWindowsIsNamed();
    void takesAPastedPlaceInAnObjectStore();
    void comparesWithWhatIsDropped();
    void walksThroughFoldersOfAHost();
    void saysWhyAHostCannotBeReached();
    void saysWhatSshAsksForAndStopsIt();
    void goesOnWhenSshIsAnswered();
    void asksAgainAfterAWrongAnswer();
    void saysThatSshAsksOnTheTerminal();
    void aLateStopDoesNotConnectAgain();
    void keepsWhatItShowedWhenTheLineIsCut();
    void isNotHeldUpByASilentLine();
    void copiesACommandThatOpensTheSameView_data();
    void copiesACommandThatOpensTheSameView();
    void offersHostsOfTheSshConfiguration();
};

void TestFarHosts::everyPageShowsWhatALocalOneShows()
{
    FarWindow fixture;
    QVERIFY(fixture.open(u"pages:runs/llama"_s));
    QVERIFY(fixture.checkpoint());
    WindowFixture local;
    QVERIFY(local.open(fixture.home() + u"/runs/llama"_s));
    QCOMPARE(fixture.checkpoint()->params.size(), local.checkpoint()->params.size());
    QCOMPARE(fixture.checkpoint()->findings.size(), local.checkpoint()->findings.size());
    const auto rows = [](WindowFixture& window) {
        QStringList out;
        const auto* table = window.find<QTableView>("parameterTable");
        for (int row = 0; row < table->model()->rowCount(); ++row)
            for (int column = 0; column < table->model()->columnCount(); ++column)
                out.append(table->model()->index(row, column).data().toString());
        return out;
    };
    for (WindowFixture* window : {static_cast<WindowFixture*>(&fixture), &local}) {
        for (const char* page : {"map", "parameters", "files", "findings", "health", "tensor"}) {
            window->window().showPage(QString::fromLatin1(page));
            QVERIFY2(window->settle(), page);
        }
        QVERIFY(window->window().goToAddress(u"layers.0.mlp.up.weight#exp_avg"_s));
        QVERIFY(window->settle());
    }
    QVERIFY(!rows(local).isEmpty());
    QCOMPARE(rows(fixture), rows(local));
    const HeatSamples& far = fixture.find<HeatMap>("heatMap")->samples();
    const HeatSamples& near = local.find<HeatMap>("heatMap")->samples();
    QVERIFY(near.anyFinite);
    QCOMPARE(far.low, near.low);
    QCOMPARE(far.high, near.high);
    QVERIFY(fixture.window().viewCommand().contains(u"pages:"_s));
    // Nothing is written on the other host, so a target is proposed here.
    ExportDialog* dialog = fixture.window().showExportDialog();
    QVERIFY(dialog);
    QVERIFY(fixture.settle());
    QVERIFY(dialog->findChild<QLineEdit*>(u"exportTarget"_s)->text().startsWith(QDir::homePath()));
    QVERIFY(fixture.bar().isHidden());
}

void TestFarHosts::opensWhatIsPasted()
{
    FarWindow fixture;
    QGuiApplication::clipboard()->setText(u"  pasted:runs/llama\n"_s);
    QTest::keyClick(&fixture.window(), Qt::Key_V, Qt::ControlModifier);
    QVERIFY(fixture.settle());
    QVERIFY(!fixture.checkpoint()); // scp's spelling alone may be any text
    QVERIFY(fixture.find<HostDialog>("hostDialog") == nullptr);
    QGuiApplication::clipboard()->setText(u"  pasted:~/runs/llama\n"_s);
    QTest::keyClick(&fixture.window(), Qt::Key_V, Qt::ControlModifier);
    QVERIFY(fixture.settle());
    QVERIFY(!fixture.checkpoint());
    QCOMPARE(fixture.connections(), 0); // before the user confirms it
    auto* dialog = fixture.find<HostDialog>("hostDialog");
    QVERIFY(dialog && dialog->isVisible());
    QCOMPARE(dialog->findChild<QComboBox*>(u"hostName"_s)->currentText(), u"pasted"_s);
    QCOMPARE(dialog->findChild<QLineEdit*>(u"hostFolder"_s)->text(), u"~/runs/llama"_s);
    QTest::mouseClick(dialog->findChild<QPushButton*>(u"hostOpen"_s), Qt::LeftButton);
    QVERIFY(fixture.settle());
    QVERIFY(fixture.checkpoint());
    QCOMPARE(fixture.connections(), 1);
}

/// A path of Windows is spelled as one of the host "C".
void TestFarHosts::aDriveOfWindowsIsNamed()
{
    FarWindow fixture;
    QGuiApplication::clipboard()->setText(u"C:/Users/ada/llama"_s);
    QTest::keyClick(&fixture.window(), Qt::Key_V, Qt::ControlModifier);
    QVERIFY(fixture.settle());
    QCOMPARE(fixture.connections(), 0);
    auto* dialog = fixture.find<HostDialog>("hostDialog");
    QVERIFY(dialog);
    const auto* message = dialog->findChild<QLabel*>(u"messageText"_s);
    QVERIFY(message->isVisible() && message->text().contains(u"Windows"_s));
    dialog->reject();
    fixture.setDown(true);
    QVERIFY(fixture.open(u"D:/runs"_s));
    QVERIFY(!fixture.checkpoint());
    const auto* error = fixture.find<QWidget>("startPage")->findChild<MessageBar*>();
    QVERIFY(QTest::qWaitFor([&] { return !error->isHidden(); }));
    QVERIFY2(error->text().contains(u"drive of Windows"_s), qPrintable(error->text()));
}

void TestFarHosts::takesAPastedPlaceInAnObjectStore()
{
    FarWindow fixture;
    QGuiApplication::clipboard()->setText(u"  s3://-none/runs/llama\n"_s); // is not asked for
    QTest::keyClick(&fixture.window(), Qt::Key_V, Qt::ControlModifier);
    QVERIFY(fixture.settle());
    QVERIFY(!fixture.checkpoint());
    const auto* bar = fixture.find<QWidget>("startPage")->findChild<MessageBar*>();
    QVERIFY(QTest::qWaitFor([&] { return !bar->isHidden(); }));
    QVERIFY2(bar->text().contains(u"no name of a bucket"_s), qPrintable(bar->text()));
}

void TestFarHosts::comparesWithWhatIsDropped()
{
    FarWindow fixture;
    QMimeData data;
    data.setText(u"dropped:~/runs/llama"_s);
    QDragEnterEvent enter({300, 300}, Qt::LinkAction, &data, Qt::LeftButton, Qt::NoModifier);
    QCoreApplication::sendEvent(&fixture.window(), &enter);
    QVERIFY(enter.isAccepted());
    QDropEvent drop({300, 300}, Qt::LinkAction, &data, Qt::LeftButton, Qt::NoModifier);
    QCoreApplication::sendEvent(&fixture.window(), &drop);
    QVERIFY(fixture.settle());
    QCOMPARE(fixture.connections(), 0); // before the user confirms it
    QTest::mouseClick(fixture.find<QPushButton>("hostOpen"), Qt::LeftButton);
    QVERIFY(fixture.settle());
    QVERIFY(fixture.checkpoint());
    QVERIFY(toText(fixture.checkpoint()->runFolder.native()).startsWith(u"dropped:/"_s));
    fixture.window().compareWith(u"dropped:runs/llama"_s, true); // as scp spells it
    QVERIFY(fixture.settle());
    const QString verdict = fixture.find<VerdictPanel>("verdictPanel")->headline();
    QVERIFY2(
        verdict.contains(u"same"_s, Qt::CaseInsensitive) && !verdict.contains(u"not"_s, Qt::CaseInsensitive),
        qPrintable(verdict));
}

void TestFarHosts::walksThroughFoldersOfAHost()
{
    FarWindow fixture;
    QVERIFY(fixture.open(u"walk:~/runs/llama"_s)); // so that the host is known
    fixture.window().actionSet()[ActionId::OpenHost]->trigger();
    auto* dialog = fixture.find<HostDialog>("hostDialog");
    QVERIFY(dialog);
    auto* host = dialog->findChild<QComboBox*>(u"hostName"_s);
    QVERIFY(host->findText(u"walk"_s) >= 0);
    const auto* hint = dialog->findChild<QLabel*>(u"hostHint"_s);
    QVERIFY(hint->isVisible() && hint->text().contains(u"press List"_s));
    host->setEditText(u"walk"_s);
    QTest::mouseClick(dialog->findChild<QPushButton*>(u"hostLook"_s), Qt::LeftButton);
    auto* list = dialog->findChild<QTreeWidget*>(u"hostList"_s);
    const auto shows = [&](const QString& name) {
        return QTest::qWaitFor([&] { return !list->findItems(name, Qt::MatchExactly).isEmpty(); }, 10'000);
    };
    QVERIFY(shows(u"runs"_s));
    QVERIFY(!hint->isVisible());
    list->setCurrentItem(list->findItems(u"runs"_s, Qt::MatchExactly).first());
    QTest::keyClick(list, Qt::Key_Return);
    QVERIFY(shows(u"llama"_s));
    // No bar of a size lies over the icon of a folder.
    QVERIFY(!list->findItems(u"llama"_s, Qt::MatchExactly).first()->data(0, ShareRole).isValid());
    QTest::keyClick(list, Qt::Key_Backspace);
    QVERIFY(shows(u"runs"_s));
    auto* folder = dialog->findChild<QLineEdit*>(u"hostFolder"_s);
    folder->setText(u"~/absent"_s);
    Q_EMIT folder->textEdited(folder->text());
    QTest::keyClick(folder, Qt::Key_Return);
    auto* message = dialog->findChild<QLabel*>(u"messageText"_s);
    QVERIFY(QTest::qWaitFor([&] { return message->isVisible() && message->text().contains(u"absent"_s); }));
    folder->setText(u"runs/llama"_s);
    QTest::keyClick(folder, Qt::Key_Return);
    QVERIFY(shows(u"latest"_s));
    QVERIFY(dialog->findChild<QLabel*>(u"hostSummary"_s)->text().contains(u"holds a checkpoint"_s));
    QVERIFY(dialog->chosen().native().starts_with("walk:/"));
    QTest::mouseClick(dialog->findChild<QPushButton*>(u"hostOpen"_s), Qt::LeftButton);
    QVERIFY(fixture.settle());
    QVERIFY(toText(fixture.checkpoint()->runFolder.native()).startsWith(u"walk:/"_s));
}

void TestFarHosts::saysWhyAHostCannotBeReached()
{
    FarWindow fixture;
    QVERIFY(fixture.open(u"absent:/runs"_s));
    QVERIFY(!fixture.checkpoint());
    QVERIFY(QTest::qWaitFor([&] { return !fixture.bar().isHidden(); }));
    QVERIFY(fixture.bar().text().contains(u"absent"_s));
}

void TestFarHosts::saysWhatSshAsksForAndStopsIt()
{
    FarWindow fixture;
    fixture.setAsking();
    fixture.window().openPath(u"prompt:~/runs/llama"_s);
    QVERIFY(QTest::qWaitFor([&] { return fixture.bar().text().contains(u"Password"_s); }, 20'000));
    QCOMPARE(fixture.bar().text(), u"prompt waits for you: ssh asks: Password of prompt:"_s);
    QVERIFY(!fixture.bar().isHidden());
    auto* stop = fixture.bar().findChild<QPushButton*>();
    QVERIFY(stop && stop->text().contains(u"Stop"_s));
    QTest::mouseClick(stop, Qt::LeftButton);
    QVERIFY(fixture.settle());
    QVERIFY(!fixture.checkpoint());
    QVERIFY(QTest::qWaitFor([&] { return fixture.bar().text().contains(u"was stopped"_s); }, 10'000));
}

/// A key of the host that is not known, and then a password.
void TestFarHosts::goesOnWhenSshIsAnswered()
{
    FarWindow fixture;
    fixture.setAsking(
        {u"The authenticity of host '$1' can't be established. Continue?"_s, u"Password of $1:"_s});
    fixture.window().openPath(u"answered:~/runs/llama"_s);
    const auto says = [&](const QString& question) {
        const QString text = u"answered waits for you: ssh asks: "_s + question;
        return QTest::qWaitFor(
            [&] { return fixture.bar().text() == text && !fixture.bar().isHidden(); }, 20'000);
    };
    QVERIFY(says(u"The authenticity of host 'answered' can't be established. Continue?"_s));
    fixture.answer("yes");
    QVERIFY(says(u"Password of answered:"_s));
    QVERIFY(!fixture.checkpoint());
    fixture.answer("yes");
    QVERIFY(fixture.settle());
    QVERIFY(fixture.checkpoint());
    QVERIFY(QTest::qWaitFor([&] { return fixture.bar().isHidden(); }, 10'000));
    QCOMPARE(fixture.connections(), 1);
}

void TestFarHosts::asksAgainAfterAWrongAnswer()
{
    FarWindow fixture;
    fixture.setAsking();
    fixture.window().openPath(u"wrong:~/runs/llama"_s);
    const auto says = [&](const QString& part) {
        return QTest::qWaitFor([&] { return fixture.bar().text().contains(part); }, 20'000);
    };
    QVERIFY(says(u"Password"_s));
    fixture.answer("no");
    QVERIFY(says(u"Permission denied"_s));
    QVERIFY(fixture.settle());
    QVERIFY(!fixture.checkpoint());
    QTest::mouseClick(fixture.bar().findChild<QPushButton*>(), Qt::LeftButton);
    QVERIFY(says(u"Password"_s));
    fixture.answer("yes");
    QVERIFY(fixture.settle());
    QVERIFY(fixture.checkpoint());
}

void TestFarHosts::saysThatSshAsksOnTheTerminal()
{
    if (!test::isInstalled("/usr/bin/python3"))
        QSKIP("Python is not installed");
    FarWindow fixture;
    fixture.setAskingOnTerminal();
    fixture.window().openPath(u"terminal:~/runs/llama"_s);
    QVERIFY(
        QTest::qWaitFor([&] { return fixture.bar().text().contains(u"asks on the terminal"_s); }, 20'000));
    QVERIFY(!fixture.bar().isHidden());
    fixture.answer("yes");
    QVERIFY(fixture.settle());
    QVERIFY(fixture.checkpoint());
    QVERIFY(QTest::qWaitFor([&] { return fixture.bar().isHidden(); }, 10'000));
}

/// The attempt ended after the bar was drawn and before its button was pressed.
void TestFarHosts::aLateStopDoesNotConnectAgain()
{
    FarWindow fixture;
    fixture.setAsking();
    fixture.window().openPath(u"late:~/runs/llama"_s);
    QVERIFY(QTest::qWaitFor([&] { return fixture.bar().text().contains(u"Password"_s); }, 20'000));
    far::FarHost& host = far::farHost("late");
    const auto isLost = [&] { return host.condition().state == far::FarCondition::State::Lost; };
    host.stopConnecting();
    for (int i = 0; i < 1000 && !isLost(); ++i) // without events, so that the bar does not look
        QThread::msleep(10);
    QVERIFY(isLost());
    QTest::mouseClick(fixture.bar().findChild<QPushButton*>(), Qt::LeftButton);
    QVERIFY2(fixture.bar().text().contains(u"was stopped"_s), qPrintable(fixture.bar().text()));
    QVERIFY(fixture.settle());
    QVERIFY(isLost());
}

void TestFarHosts::keepsWhatItShowedWhenTheLineIsCut()
{
    FarWindow fixture;
    QVERIFY(fixture.open(u"cut:~/runs/llama"_s));
    QVERIFY(fixture.checkpoint());
    fixture.setDown(true);
    fixture.signalLines(SIGKILL);
    QVERIFY(QTest::qWaitFor([&] { return !fixture.bar().isHidden(); }, 10'000));
    QVERIFY2(fixture.bar().text().contains(u"lost"_s), qPrintable(fixture.bar().text()));
    QVERIFY(fixture.checkpoint()); // it is still shown
    fixture.window().showPage(u"parameters"_s);
    QVERIFY(fixture.settle());
    auto* again = fixture.bar().findChild<QPushButton*>();
    QVERIFY(again);
    QTest::mouseClick(again, Qt::LeftButton); // still down
    QVERIFY(fixture.settle());
    QVERIFY(fixture.checkpoint());
    fixture.setDown(false);
    QVERIFY(QTest::qWaitFor([&] { return !fixture.bar().isHidden(); }, 10'000));
    QTest::mouseClick(fixture.bar().findChild<QPushButton*>(), Qt::LeftButton);
    QVERIFY(fixture.settle());
    QVERIFY(QTest::qWaitFor([&] { return fixture.bar().isHidden(); }, 10'000));
    QVERIFY(fixture.checkpoint()->fullyRead);
    fixture.window().showPage(u"tensor"_s);
    QVERIFY(fixture.window().goToAddress(u"layers.0.mlp.up.weight#exp_avg"_s));
    QVERIFY(fixture.settle());
    QVERIFY(fixture.find<HeatMap>("heatMap")->samples().anyFinite);
}

void TestFarHosts::isNotHeldUpByASilentLine()
{
    FarWindow fixture;
    QVERIFY(fixture.open(u"silent:~/runs/llama"_s));
    QVERIFY(fixture.checkpoint());
    fixture.signalLines(SIGSTOP);
    QElapsedTimer longest;
    qint64 most = 0;
    QElapsedTimer passed;
    passed.start();
    fixture.window().showPage(u"tensor"_s);
    QVERIFY(fixture.window().goToAddress(u"layers.0.mlp.up.weight#exp_avg"_s));
    while (passed.elapsed() < 12'000 && fixture.bar().isHidden()) {
        longest.start();
        QCoreApplication::processEvents();
        most = std::max(most, longest.elapsed());
        QTest::qSleep(5);
    }
    QVERIFY(fixture.bar().text().contains(u"Nothing has arrived"_s));
    QVERIFY2(most < 2'000, qPrintable(QString::number(most))); // a busy machine; a wait would be 25 s
    fixture.signalLines(SIGCONT);
    QVERIFY(fixture.settle());
    QVERIFY(QTest::qWaitFor([&] { return fixture.bar().isHidden(); }, 10'000));
}

void TestFarHosts::copiesACommandThatOpensTheSameView_data()
{
    QTest::addColumn<QString>("host");
    QTest::newRow("name") << u"viewed"_s;
    QTest::newRow("user") << u"ada@viewed"_s;
    QTest::newRow("address") << u"ada@[2001:db8::7]"_s;
}

void TestFarHosts::copiesACommandThatOpensTheSameView()
{
    QFETCH(QString, host);
    FarWindow fixture;
    QDir(fixture.home()).rename(u"runs/llama"_s, u"runs/it's a run"_s);
    QVERIFY(fixture.open(host % u":~/runs/it's a run"_s));
    QVERIFY(fixture.checkpoint());
    fixture.window().compareWith(host % u":runs/it's a run"_s, true);
    QVERIFY(fixture.settle());
    fixture.window().showPage(u"tensor"_s);
    QVERIFY(fixture.window().goToAddress(u"layers.0.mlp.up.weight#exp_avg"_s));
    QVERIFY(fixture.settle());
    fixture.window().actionSet()[ActionId::CopyCommand]->trigger();
    const QString command = QGuiApplication::clipboard()->text();
    QCOMPARE(command, fixture.window().viewCommand());
    const QString picture = fixture.folder(u"view.png"_s);
    std::string words = command.toStdString();
    const std::string program = "shardscope-gui";
    QVERIFY(words.starts_with(program));
    words.replace(0, program.size(), "'" + windowPath() + "' --screenshot '" + picture.toStdString() + "'");
    const std::string home = fixture.folder(u"home"_s).toStdString();
    const test::ProcessResult result = test::runProcess({"/bin/sh", "-c", words},
        {.environment = {{"QT_QPA_PLATFORM", "offscreen"}, {"HOME", home}, {"XDG_CONFIG_HOME", home},
             {"XDG_CACHE_HOME", home}}});
    QVERIFY2(result.exitCode == 0, (words + "\n" + result.err).c_str());
    QVERIFY(QFile::exists(picture));
}

void TestFarHosts::offersHostsOfTheSshConfiguration()
{
    QTemporaryDir folder;
    const auto write = [&](const QString& name, const QByteArray& text) {
        QFile file(folder.filePath(name));
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write(text);
    };
    QDir(folder.path()).mkpath(u".ssh/more"_s);
    write(u".ssh/config"_s,
        "# Host no\nHost node7 ada@node8\n  HostName x\nhost=\"login\" *.cluster !bad\nInclude more/*.conf "
        "~/.ssh/more/absent\nInclude config\nHost -oProxyCommand=x node7\n");
    write(u".ssh/more/a.conf"_s, "Host inner\n");
    write(u".ssh/more/b.txt"_s, "Host other\n");
    const auto hosts = far::hostsInSshConfig(allFiles(), folder.filePath(u".ssh/config"_s).toStdString());
    const std::vector<std::string> expected{"node7", "ada@node8", "login", "inner"};
    QCOMPARE(hosts, expected);
}

SHARDSCOPE_UI_TEST(TestFarHosts, WithDisplay)
#include "tst_far_hosts.moc"
