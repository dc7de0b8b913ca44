// SPDX-License-Identifier: Apache-2.0
// Walks through the buckets of an object store, which checks signatures.
#include "core/far/far_files.h"
#include "tests/ui/ui_tests.h"
#include "tests/ui/window_fixture.h"
#include "ui/dialogs/host_dialog.h"
#include "ui/text/text.h"
#include "ui/widgets/message_bar.h"

#include <QComboBox>
#include <QDir>
#include <QLineEdit>
#include <QProcess>
#include <QPushButton>
#include <QTreeWidget>

using namespace Qt::StringLiterals;
using namespace shardscope;
using namespace shardscope::ui;

namespace {

io::FileSystem& allFiles()
{
    static SkeletonFiles files(far::farAndOwnFiles());
    return files;
}

/// A window with the dialog, and what a user does there.
class Walk : public WindowFixture
{
public:
    Walk()
        : WindowFixture(ThemeMode::Light, allFiles())
    {
        ask();
    }
    void ask()
    {
        window().actionSet()[ActionId::OpenHost]->trigger();
        m_dialog = find<HostDialog>("hostDialog");
    }
    [[nodiscard]] HostDialog& dialog() { return *m_dialog; }
    template <class Widget>
    [[nodiscard]] Widget& part(const char* name)
    {
        return *m_dialog->findChild<Widget*>(QString::fromLatin1(name));
    }
    [[nodiscard]] QComboBox& host() { return part<QComboBox>("hostName"); }
    [[nodiscard]] QString folder() { return part<QLineEdit>("hostFolder").text(); }
    [[nodiscard]] QString summary() { return part<QLabel>("hostSummary").text(); }
    [[nodiscard]] QPushButton& openButton() { return part<QPushButton>("hostOpen"); }
    void type(const QString& host, const QString& folder)
    {
        for (auto [line, text] :
            {std::pair(this->host().lineEdit(), host), std::pair(&part<QLineEdit>("hostFolder"), folder)}) {
            line->selectAll();
            QTest::keyClicks(line, text);
        }
    }
    void list() { QTest::mouseClick(&part<QPushButton>("hostLook"), Qt::LeftButton); }
    bool shows(const QString& name)
    {
        auto& list = part<QTreeWidget>("hostList");
        return QTest::qWaitFor([&] { return !list.findItems(name, Qt::MatchExactly).isEmpty(); }, 20'000);
    }
    /// With the keys of the list, as `name` is shown.
    void enter(const QString& name)
    {
        auto& list = part<QTreeWidget>("hostList");
        list.setCurrentItem(list.findItems(name, Qt::MatchExactly).first());
        QTest::keyClick(&list, Qt::Key_Return);
    }
    void goUp() { QTest::keyClick(&part<QTreeWidget>("hostList"), Qt::Key_Backspace); }
    bool says(const QString& text)
    {
        auto& message = part<QLabel>("messageText");
        return QTest::qWaitFor([&] { return message.isVisible() && message.text().contains(text); }, 20'000);
    }

private:
    HostDialog* m_dialog = nullptr;
};

} // namespace

class TestStoreDialog : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void initTestCase();
    void cleanupTestCase();
    void walksFromTheBucketsToACheckpoint();
    void opensWhatIsTypedAndOffersItsBucketAgain();
    void saysWhyAPlaceCannotBeListed();

private:
    QTemporaryDir m_folder;
    QProcess m_server;
};

void TestStoreDialog::initTestCase()
{
    QDir(m_folder.path()).mkpath(u"store/test-bucket/runs"_s);
    QDir(m_folder.path()).mkpath(u"store/other.bucket/data"_s);
    copiedSample("zero3-w4", m_folder.filePath(u"store/test-bucket/runs/llama"_s));
    m_server.start(u"python3"_s,
        {QString::fromStdString(sourceFolder()) + u"/tests/objects/store.py"_s, u"--serve"_s,
            m_folder.filePath(u"store"_s), u"AKTESTTEST"_s, u"geheimgeheim"_s});
    QVERIFY(m_server.waitForReadyRead(60'000));
    for (const char* name : {"AWS_PROFILE", "AWS_ENDPOINT_URL_S3", "AWS_REGION", "AWS_SESSION_TOKEN"})
        qunsetenv(name);
    qputenv("HOME", m_folder.path().toUtf8()); // without a profile
    qputenv("AWS_ENDPOINT_URL", m_server.readLine().trimmed());
    qputenv("AWS_ACCESS_KEY_ID", "AKTESTTEST");
    qputenv("AWS_SECRET_ACCESS_KEY", "geheimgeheim");
}

void TestStoreDialog::cleanupTestCase()
{
    m_server.closeWriteChannel();
    QVERIFY(m_server.waitForFinished(30'000));
}

void TestStoreDialog::walksFromTheBucketsToACheckpoint()
{
    Walk walk;
    QVERIFY(walk.host().findText(u"s3://"_s) >= 0);
    walk.type(u"s3://"_s, u"~"_s);
    QVERIFY(!walk.openButton().isEnabled()); // the store itself is no place of a checkpoint
    QVERIFY2(walk.summary().contains(u"AWS"_s), qPrintable(walk.summary()));
    walk.list();
    QVERIFY(walk.shows(u"test-bucket"_s));
    QVERIFY(walk.shows(u"other.bucket"_s));
    QVERIFY2(walk.summary().contains(u"2 buckets"_s), qPrintable(walk.summary()));
    QVERIFY(!walk.openButton().isEnabled());
    QVERIFY(walk.dialog().chosen().empty());
    walk.enter(u"test-bucket"_s);
    QVERIFY(walk.shows(u"runs"_s));
    QCOMPARE(walk.host().currentText(), u"s3://test-bucket"_s);
    QCOMPARE(walk.folder(), u"/"_s);
    QVERIFY(walk.openButton().isEnabled());
    walk.enter(u"runs"_s);
    QVERIFY(walk.shows(u"llama"_s));
    walk.enter(u"llama"_s);
    QVERIFY(walk.shows(u"latest"_s));
    QCOMPARE(walk.folder(), u"/runs/llama"_s);
    QCOMPARE(walk.summary(), u"This folder holds a checkpoint. 1 folder, 1 file."_s);
    for (const QString& above : {u"llama"_s, u"runs"_s, u"other.bucket"_s}) {
        walk.goUp();
        QVERIFY2(walk.shows(above), qPrintable(above));
    }
    QCOMPARE(walk.host().currentText(), u"s3://"_s);
    walk.enter(u"test-bucket"_s);
    QVERIFY(walk.shows(u"runs"_s));
    walk.enter(u"runs"_s);
    QVERIFY(walk.shows(u"llama"_s));
    auto& list = walk.part<QTreeWidget>("hostList");
    list.setCurrentItem(list.findItems(u"llama"_s, Qt::MatchExactly).first()); // and not entered
    QTest::mouseClick(&walk.openButton(), Qt::LeftButton);
    QVERIFY(walk.settle());
    QVERIFY(walk.checkpoint());
    QCOMPARE(pathText(walk.checkpoint()->runFolder), u"s3://test-bucket/runs/llama"_s);
}

void TestStoreDialog::opensWhatIsTypedAndOffersItsBucketAgain()
{
    Walk walk;
    walk.type(u"s3://test-bucket/runs/"_s, u"llama"_s);
    QVERIFY(walk.openButton().isEnabled());
    QTest::mouseClick(&walk.openButton(), Qt::LeftButton); // without a listing
    QVERIFY(walk.settle());
    QVERIFY(walk.checkpoint());
    QCOMPARE(pathText(walk.checkpoint()->runFolder), u"s3://test-bucket/runs/llama"_s);
    walk.ask();
    QCOMPARE(walk.host().itemText(0), u"s3://test-bucket"_s);
    walk.part<QLineEdit>("hostFolder").setText(u"~/on/a/host"_s);
    walk.host().setCurrentIndex(0);
    Q_EMIT walk.host().activated(0);
    QVERIFY(walk.shows(u"runs"_s));
}

void TestStoreDialog::saysWhyAPlaceCannotBeListed()
{
    Walk walk;
    walk.type(u"s3://no-such-bucket"_s, u"/"_s);
    walk.list();
    QVERIFY(walk.says(u"no such bucket"_s));
    walk.type(u"s3://-none"_s, u"/"_s);
    walk.list();
    QVERIFY(walk.says(u"no name of a bucket"_s));
    walk.type(u"s3://test-bucket"_s, u"/absent"_s);
    walk.list();
    QVERIFY(walk.says(u"nothing of this name"_s));
    walk.type(u"ho st"_s, u"/"_s);
    walk.list();
    QVERIFY(walk.says(u"no name of a host"_s));
}

SHARDSCOPE_UI_TEST(TestStoreDialog, WithDisplay)
#include "tst_store_dialog.moc"
