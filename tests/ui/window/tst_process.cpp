// SPDX-License-Identifier: Apache-2.0
// shardscope-gui as a process, without a display.
#include "tests/support/process.h"
#include "tests/ui/ui_tests.h"
#include "tests/ui/window_fixture.h"
#include "ui/shell/screenshot.h"

#include <QFile>
#include <QImage>
#include <QJsonDocument>
#include <QJsonObject>
#include <QTemporaryDir>
#include <QTest>

#include <csignal>

using namespace Qt::StringLiterals;
using namespace shardscope;
using namespace shardscope::ui;
using test::ProcessResult;

namespace {

class Program
{
public:
    [[nodiscard]] test::ProcessOptions options() const
    {
        const std::string home = m_home.path().toStdString();
        return {.environment = {{"QT_QPA_PLATFORM", "offscreen"}, {"HOME", home},
                    {"XDG_CONFIG_HOME", home + "/config"}, {"XDG_CACHE_HOME", home + "/cache"}}};
    }
    [[nodiscard]] ProcessResult run(std::vector<std::string> words) const
    {
        words.insert(words.begin(), windowPath());
        return test::runProcess(words, options());
    }
    [[nodiscard]] QString file(const QString& name) const { return m_home.filePath(name); }

private:
    QTemporaryDir m_home;
};

std::string sample(const char* name)
{
    return samplePath(name).toStdString();
}

} // namespace

class TestProcess : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void startsAndShows()
    {
        // The window logs its content, and ends on request.
        const Program program;
        auto options = program.options();
        options.environment.emplace_back("QT_LOGGING_RULES", "shardscope.window=true");
        test::Process window({windowPath(), sample("zero3-w4"), "--page", "map"}, options);
        QVERIFY(window.waitForError("shows zero3-w4 global_step5"));
        window.signal(SIGTERM);
        const ProcessResult result = window.wait();
        QCOMPARE(result.exitCode, 128 + SIGTERM);
    }

    void headlessRunsVerbs()
    {
        const Program program;
        const ProcessResult result = program.run({"--headless", "inspect", sample("zero2-w2"), "--json"});
        QCOMPARE(result.exitCode, 0);
        const QJsonObject answer = QJsonDocument::fromJson(QByteArray::fromStdString(result.out)).object();
        QCOMPARE(answer[u"schema"_s].toString(), u"shardscope/inspect/1"_s);
        QCOMPARE(program.run({"--headless", "inspect", sample("no such thing")}).exitCode, 3);
        QCOMPARE(program.run({"--headless", "nonsense"}).exitCode, 2);
    }

    void takesPictures()
    {
        const Program program;
        const auto take = [&](const std::string& page, const std::string& size) {
            const QString file = program.file(QString::fromStdString(page + size) + u".png"_s);
            const ProcessResult result = program.run(
                {"--screenshot", file.toStdString(), "--page", page, "--size", size, sample("zero3-w4")});
            return result.exitCode == 0 ? QImage(file).size() : QSize();
        };
        for (const QString& page : screenshotPages())
            QCOMPARE(take(page.toStdString(), "900x600"), QSize(900, 600));
        for (const char* page : {"map", "reshard"})
            QCOMPARE(take(page, "1440x900"), QSize(1440, 900));
    }

    void aPictureIsFiltered()
    {
        const Program program;
        const auto take = [&](const QString& name, const std::string& filter) {
            const QString file = program.file(name);
            const ProcessResult result = program.run({"--screenshot", file.toStdString(), "--page",
                "parameters", "--filter", filter, "--size", "900x600", sample("zero2-w2")});
            return result.exitCode == 0 ? QImage(file) : QImage();
        };
        const QImage all = take(u"all.png"_s, "");
        QCOMPARE(all.size(), QSize(900, 600));
        const QImage none = take(u"none.png"_s, "nosuchname");
        QVERIFY(all.copy(300, 200, 200, 300) != none.copy(300, 200, 200, 300)); // where the rows are
    }

    void aPictureOfAFolderOfRuns()
    {
        const Program program;
        for (const char* page : {"runs", ""}) {
            const QString file = program.file(u"runs%1.png"_s.arg(QLatin1StringView(page)));
            std::vector<std::string> words{
                "--screenshot", file.toStdString(), "--size", "900x600", sample("")};
            if (*page != 0)
                words.insert(words.begin(), {"--page", page});
            const ProcessResult result = program.run(words);
            QVERIFY2(result.exitCode == 0, result.err.c_str());
            QCOMPARE(QImage(file).size(), QSize(900, 600));
        }
    }

    void picturesHaveTheThemeAndTheUsersTextSize()
    {
        const Program program;
        const auto take = [&](const QString& name, const std::string& theme) {
            const QString file = program.file(name);
            const ProcessResult result = program.run({"--screenshot", file.toStdString(), "--page",
                "overview", "--size", "900x600", "--theme", theme, sample("zero2-w2")});
            return result.exitCode == 0 ? QImage(file) : QImage();
        };
        const QImage before = take(u"before.png"_s, "high-contrast");
        QCOMPARE(before.pixel(450, 590), qRgb(0, 0, 0));
        QVERIFY(take(u"dark.png"_s, "dark").pixel(450, 590) != before.pixel(450, 590));
        const auto takeLarge = [&](int percent, const QString& name) {
            const QString folder = program.file(u"settings%1"_s.arg(percent));
            Settings(folder).setTextSize(percent);
            auto options = program.options();
            options.environment.emplace_back("SHARDSCOPE_SETTINGS", folder.toStdString());
            const QString file = program.file(name);
            const ProcessResult result
                = test::runProcess({windowPath(), "--screenshot", file.toStdString(), "--page", "map",
                                       "--size", "900x600", sample("zero2-w2")},
                    options);
            return result.exitCode == 0 ? QImage(file) : QImage();
        };
        const QImage usual = takeLarge(100, u"usual.png"_s);
        const QImage large = takeLarge(150, u"large.png"_s);
        QCOMPARE(large.size(), QSize(900, 600));
        // The letters of the menu bar are higher.
        const auto heightOf = [](const QImage& image) {
            int top = image.height();
            int bottom = 0;
            for (int y = 0; y < 24; ++y)
                for (int x = 4; x < 30; ++x)
                    if (image.pixelColor(x, y).lightness() < 110) {
                        top = std::min(top, y);
                        bottom = y;
                    }
            return bottom - top;
        };
        QVERIFY2(heightOf(large) > heightOf(usual),
            qPrintable(u"%1, %2"_s.arg(heightOf(large)).arg(heightOf(usual))));
    }

    void saysWhatIsWrong_data()
    {
        QTest::addColumn<QStringList>("words");
        QTest::addColumn<int>("exitCode");
        QTest::addColumn<QString>("says");
        const QString picture = u"--screenshot"_s;
        QTest::newRow("no checkpoint")
            << QStringList{picture, u"a.png"_s, u"/no such folder"_s} << 3 << u"no such"_s;
        QTest::newRow("no page") << QStringList{picture, u"a.png"_s, u"--page"_s, u"nonsense"_s,
            samplePath("zero2-w2")}
                                 << 3 << u"there is no page named"_s;
        QTest::newRow("no page, and which there are") << QStringList{picture, u"a.png"_s, u"--page"_s,
            u"Map"_s, samplePath("zero2-w2")} << 3 << u"use overview, map, "_s;
        QTest::newRow("cannot write")
            << QStringList{picture, u"/no such folder/a.png"_s, samplePath("zero2-w2")} << 3
            << u"cannot write"_s;
        QTest::newRow("a folder of runs") << QStringList{picture, u"a.png"_s, u"--page"_s, u"map"_s,
            samplePath("")} << 3 << u"--page runs"_s;
        QTest::newRow("too small") << QStringList{picture, u"a.png"_s, u"--size"_s, u"400x300"_s,
            samplePath("zero2-w2")} << 3
                                   << u"needs at least"_s;
        QTest::newRow("only a picture has it")
            << QStringList{u"--page"_s, u"settings"_s} << 2 << u"use overview, map, "_s;
        QTest::newRow("no theme") << QStringList{u"--theme"_s, u"pink"_s} << 2 << u"--theme"_s;
        QTest::newRow("no size") << QStringList{u"--size"_s, u"10x10"_s} << 2 << u"--size"_s;
        QTest::newRow("no option") << QStringList{u"--nonsense"_s} << 2 << u"nonsense"_s;
    }

    void saysWhatIsWrong()
    {
        QFETCH(QStringList, words);
        QFETCH(int, exitCode);
        QFETCH(QString, says);
        const Program program;
        std::vector<std::string> arguments;
        for (const QString& word : words)
            arguments.push_back(word == "a.png"_L1 ? program.file(word).toStdString() : word.toStdString());
        const ProcessResult result = program.run(arguments);
        QCOMPARE(result.exitCode, exitCode);
        QVERIFY2(QString::fromStdString(result.err).contains(says, Qt::CaseInsensitive), result.err.c_str());
    }

    void printsItsVersionAndHelp()
    {
        const Program program;
        QVERIFY(program.run({"--version"}).out.starts_with("shardscope-gui "));
        const ProcessResult help = program.run({"--help"});
        QCOMPARE(help.exitCode, 0);
        QVERIFY(help.out.find("--screenshot") != std::string::npos);
        QVERIFY(help.out.find("also: start") != std::string::npos);
    }
};

SHARDSCOPE_UI_TEST(TestProcess, CoreOnly)
#include "tst_process.moc"
