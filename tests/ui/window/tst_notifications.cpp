// SPDX-License-Identifier: Apache-2.0
// Notifications of the desktop, on a session bus of the test's own with a server that records what it is
// asked.
#include "tests/ui/ui_tests.h"
#include "tests/ui/window_fixture.h"
#include "ui/jobs/job.h"

#include <QDBusConnection>
#include <QDBusError>
#include <QDockWidget>
#include <QProcess>

using namespace Qt::StringLiterals;
using namespace shardscope;
using namespace shardscope::ui;

namespace {

const QString kService = u"org.freedesktop.Notifications"_s;
const QString kPath = u"/org/freedesktop/Notifications"_s;

class NotificationServer : public QObject
{
    Q_OBJECT
    Q_CLASSINFO("D-Bus Interface", "org.freedesktop.Notifications")
public:
    struct Note {
        QString application;
        QString title;
        QString text;
        QStringList actions;
        QVariantMap hints;
    };
    QList<Note> notes;
    QStringList capabilities{u"body"_s, u"actions"_s};

public Q_SLOTS:
    QStringList GetCapabilities() { return capabilities; }
    uint Notify(const QString& application, uint /*replaces*/, const QString& /*icon*/, const QString& title,
        const QString& text, const QStringList& actions, const QVariantMap& hints, int /*timeout*/)
    {
        notes.append({application, title, text, actions, hints});
        return static_cast<uint>(notes.size());
    }

Q_SIGNALS:
    void ActionInvoked(uint notification, const QString& action);
};

Job* quickJob(Result<JobOutcome> outcome)
{
    return new Job(u"Reshard to 3 ranks"_s, u"/runs/llama"_s, [outcome](JobContext&) { return outcome; });
}

void lookElsewhere(WindowFixture& ui)
{
    QVERIFY(QTest::qWaitForWindowActive(&ui.window())); // else it becomes active later
    QApplication::setActiveWindow(nullptr);
}

} // namespace

class TestNotifications : public QObject
{
    Q_OBJECT

private Q_SLOTS:
    void initTestCase()
    {
        m_daemon.start(u"dbus-daemon"_s, {u"--session"_s, u"--nofork"_s, u"--print-address"_s});
        QVERIFY2(m_daemon.waitForStarted(), "dbus-daemon is missing: packaging/setup.sh installs it");
        QVERIFY(m_daemon.waitForReadyRead());
        qputenv("DBUS_SESSION_BUS_ADDRESS", m_daemon.readLine().trimmed());
        QDBusConnection bus = QDBusConnection::connectToBus(QDBusConnection::SessionBus, u"server"_s);
        QVERIFY2(bus.isConnected(), qPrintable(bus.lastError().message()));
        QVERIFY(bus.registerObject(
            kPath, &m_server, QDBusConnection::ExportAllSlots | QDBusConnection::ExportAllSignals));
        QVERIFY(bus.registerService(kService));
    }
    void cleanupTestCase()
    {
        QDBusConnection::disconnectFromBus(u"server"_s);
        m_daemon.kill();
        m_daemon.waitForFinished();
    }
    void init()
    {
        m_server.notes.clear();
        m_server.capabilities = {u"body"_s, u"actions"_s};
    }

    void aJobThatEndsUnseenIsTold()
    {
        WindowFixture ui;
        lookElsewhere(ui);
        ui.window().jobs().add(quickJob(JobOutcome{u"Wrote 3 files <b> & verified them."_s, {}, false, 0}));
        QTRY_COMPARE(m_server.notes.size(), 1);
        const auto& note = m_server.notes.first();
        QCOMPARE(note.application, u"Shardscope"_s);
        QCOMPARE(note.title, u"Finished: Reshard to 3 ranks"_s);
        QCOMPARE(note.text, u"Wrote 3 files <b> & verified them."_s);
        QCOMPARE(note.actions, QStringList({u"default"_s, u"Show"_s}));
        QVERIFY(note.hints.contains(u"desktop-entry"_s));

        m_server.capabilities = {u"body"_s, u"body-markup"_s};
        ui.window().jobs().add(
            quickJob(fail(ErrorCode::WriteFailed, "there is no space for <output>", "/runs/llama")));
        QTRY_COMPARE(m_server.notes.size(), 2);
        QCOMPARE(m_server.notes.last().title, u"Failed: Reshard to 3 ranks"_s);
        QCOMPARE(m_server.notes.last().text, u"there is no space for &lt;output&gt;"_s);
        QCOMPARE(m_server.notes.last().actions, QStringList());
    }

    void whoLooksIsNotTold()
    {
        WindowFixture ui;
        QApplication::setActiveWindow(&ui.window());
        ui.window().jobs().add(quickJob(JobOutcome{u"Done."_s, {}, false, 0}));
        QTRY_COMPARE(ui.window().jobs().activeCount(), 0);
        QTest::qWait(200);
        QVERIFY(m_server.notes.isEmpty());
    }

    void aClickShowsTheWindowAndItsJobs()
    {
        WindowFixture ui;
        lookElsewhere(ui);
        ui.window().jobs().add(quickJob(JobOutcome{u"Done."_s, {}, false, 0}));
        QTRY_COMPARE(m_server.notes.size(), 1);
        QTest::qWait(100); // until the window knows the number
        ui.find<QDockWidget>("jobsDock")->hide();
        ui.window().showMinimized();
        Q_EMIT m_server.ActionInvoked(77, u"default"_s); // another program's
        Q_EMIT m_server.ActionInvoked(1, u"default"_s);
        QTRY_VERIFY(!ui.window().isMinimized());
        QVERIFY(ui.find<QDockWidget>("jobsDock")->isVisible());
    }

private:
    QProcess m_daemon;
    NotificationServer m_server;
};

SHARDSCOPE_UI_TEST(TestNotifications, WithDisplay)
#include "tst_notifications.moc"
