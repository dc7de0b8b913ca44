// SPDX-License-Identifier: Apache-2.0
// The health page: figures of every layer, alarms in words, and the other tags of the run.
#include "tests/support/faulting_file_system.h"
#include "tests/ui/ui_tests.h"
#include "tests/ui/window_fixture.h"
#include "ui/models/model_roles.h"
#include "ui/pages/health_page.h"
#include "ui/text/text.h"
#include "ui/widgets/series_chart.h"

#include <QAbstractItemModelTester>
#include <QComboBox>
#include <QDir>
#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QLabel>
#include <QListWidget>
#include <QPushButton>
#include <QScopeGuard>
#include <QSignalSpy>
#include <QTableView>
#include <QTest>

#include <atomic>
#include <memory>

using namespace Qt::StringLiterals;
using namespace shardscope;
using namespace shardscope::ui;

namespace {

constexpr const char* kShard = "/global_step6/bf16_zero_pp_rank_1_mp_rank_00_optim_states.pt";

/// A run with two tags; the newer one has a NaN in the masters if that is asked for.
QString twoTags(const WindowFixture& ui, bool damaged)
{
    const QString run = copiedSample("zero2-w2", ui.folder(u"run"_s));
    QFile shard(run + QLatin1String(kShard));
    if (damaged
        && (!shard.open(QIODevice::ReadWrite) || !shard.seek(shard.size() * 3 / 4 / 64 * 64)
            || shard.write(QByteArray::fromHex("0000c07f")) != 4))
        return {};
    return run;
}

/// The files of the newest tag cannot be opened while they are held.
class HeldTag : public io::FaultingFileSystem
{
public:
    HeldTag()
        : io::FaultingFileSystem(io::realFileSystem())
    {
    }

    void hold(bool on)
    {
        m_held = on;
        m_held.notify_all();
    }

    Result<std::unique_ptr<io::ReadFile>> openRead(const io::Path& path) override
    {
        if (path.native().find("global_step6") != std::string::npos)
            m_held.wait(true);
        return io::FaultingFileSystem::openRead(path);
    }

private:
    std::atomic<bool> m_held{false};
};

class HealthTest : public QObject
{
    Q_OBJECT

private Q_SLOTS:
    void aSoundRunHasFiguresAndNoAlarm()
    {
        WindowFixture ui;
        QVERIFY(ui.open(twoTags(ui, false)));
        ui.window().showPage(PageId::Health);
        QVERIFY(ui.settle());
        auto* page = ui.find<HealthPage>("healthPage");
        QVERIFY(page != nullptr);
        const QAbstractItemModelTester tester(
            page->model(), QAbstractItemModelTester::FailureReportingMode::Warning);
        QCOMPARE(page->alarmList()->count(), 0);
        QVERIFY(!page->alarmList()->isVisible());
        QVERIFY(ui.find<QLabel>("healthSummary")->text().contains(u"Nothing looks wrong in 2 tags"_s));
        QVERIFY(page->model()->rowCount() > 3);
        QCOMPARE(page->model()->index(0, 0).data().toString(), u"layers.0"_s);
        QVERIFY(page->model()->index(0, 2).data(CopyRole).toString().toDouble() > 0.01);
        QCOMPARE(page->model()->index(0, 1).data(SparkRole).toList().size(), 2);

        // Sorted by the update, largest first, and back by layer.
        page->table()->sortByColumn(2, Qt::DescendingOrder);
        QVERIFY(page->model()->index(0, 2).data(CopyRole).toString().toDouble()
            >= page->model()->index(1, 2).data(CopyRole).toString().toDouble());
        ui.find<QComboBox>("healthRows")->setCurrentIndex(1);
        QVERIFY(page->model()->rowCount() > 10);
        auto* overLayers = ui.find<SeriesChart>("healthOverLayers");
        QCOMPARE(overLayers->points().size(), static_cast<size_t>(page->model()->rowCount()));
    }

    /// Whose ranks are in two folders: the other tag is read from both, too.
    void theHistoryIsOfAllFolders()
    {
        WindowFixture ui;
        const QString run = twoTags(ui, false);
        const QString second = ui.folder(u"second"_s);
        for (const QString& tag : {u"/global_step3"_s, u"/global_step6"_s}) {
            const QString name = tag % u"/bf16_zero_pp_rank_1_mp_rank_00_optim_states.pt"_s;
            QVERIFY(QDir().mkpath(second + tag) && QFile::rename(run + name, second + name));
        }
        ui.window().openPlace({toPath(run), {}, {toPath(second)}, false});
        QVERIFY(ui.settle());
        ui.window().showPage(PageId::Health);
        QVERIFY(ui.settle());
        const QString summary = ui.find<QLabel>("healthSummary")->text();
        QVERIFY2(summary.contains(u"Nothing looks wrong in 2 tags"_s), qPrintable(summary));
    }

    void theTableIsSaved()
    {
        WindowFixture ui;
        QVERIFY(ui.open(twoTags(ui, false)));
        ui.window().showPage(PageId::Health);
        QVERIFY(ui.settle());
        auto* page = ui.find<HealthPage>("healthPage");
        QSignalSpy saved(page, &Page::told);
        page->saveRows(ui.folder(u"health.csv"_s));
        QVERIFY(saved.wait());
        QFile csv(ui.folder(u"health.csv"_s));
        QVERIFY(csv.open(QIODevice::ReadOnly));
        const QString text = QString::fromUtf8(csv.readAll());
        QVERIFY(text.startsWith(u"# Written by: Shardscope "_s));
        QVERIFY(text.contains(u"\n# Command: shardscope stats "_s));
        QVERIFY(text.contains(u"\nlayer,state,elements,exact,read,missing,rms,"_s));
        QVERIFY(text.contains(u"\nlayers.0,fp32,"_s) && text.contains(u"\nlayers.0,exp_avg,"_s));
        page->saveRows(ui.folder(u"health.json"_s));
        QVERIFY(saved.wait());
        QFile json(ui.folder(u"health.json"_s));
        QVERIFY(json.open(QIODevice::ReadOnly));
        const QJsonObject answer = QJsonDocument::fromJson(json.readAll()).object();
        QCOMPARE(answer[u"schema"_s].toString(), u"shardscope/health/1"_s);
        QCOMPARE(answer[u"history"_s].toArray().size(), 2);
        QVERIFY(answer[u"report"_s].toObject()[u"command"_s].toString().endsWith(
            u" --health --history --json"_s));
    }

    /// Some of the history is not the history.
    void whatIsSavedBeforeAllTagsAreReadHasThisTagAlone()
    {
        HeldTag files;
        WindowFixture ui(ThemeMode::Light, files);
        const auto released = qScopeGuard([&files] { files.hold(false); });
        ui.window().openPath(twoTags(ui, false), u"global_step3"_s);
        QVERIFY(ui.settle());
        QCOMPARE(ui.checkpoint()->tag, std::string("global_step3"));
        files.hold(true);
        ui.window().showPage(PageId::Health);
        auto* page = ui.find<HealthPage>("healthPage");
        const auto* summary = ui.find<QLabel>("healthSummary");
        QTRY_VERIFY_WITH_TIMEOUT(summary->text().contains(u": 1 left"_s), 30'000); // its own is there
        QSignalSpy saved(page, &Page::told);
        const auto savedAnswer = [&](const QString& name) {
            page->saveRows(ui.folder(name));
            saved.wait();
            QFile json(ui.folder(name));
            return json.open(QIODevice::ReadOnly) ? QJsonDocument::fromJson(json.readAll()).object()
                                                  : QJsonObject();
        };
        for (const QString& name : {u"reading.json"_s, u"stopped.json"_s}) {
            const QJsonObject answer = savedAnswer(name);
            QVERIFY(answer.contains(u"layers"_s));
            QVERIFY(!answer.contains(u"history"_s));
            const QString command = answer[u"report"_s].toObject()[u"command"_s].toString();
            QVERIFY2(!command.contains(u"--history"_s), qPrintable(command));
            QVERIFY(saved.last().last().toString().contains(u"not all read"_s));
            QTest::keyClick(page, Qt::Key_Escape);
        }
        files.hold(false);
        QVERIFY(ui.settle());
    }

    void theAnswerSaysHowManyTagsWereOmitted()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero2-w2")));
        HealthFacts facts;
        facts.tag.emplace().tag = "global_step6";
        facts.history = {*facts.tag};
        facts.tagsOmitted = 3;
        facts.isComplete = true;
        const QString path = ui.folder(u"omitted.json"_s);
        const HealthTable table{ui.window().session().checkpoint(),
            std::make_shared<const HealthFacts>(facts), {}, false, toPath(samplePath("zero2-w2")),
            reportHead("command")};
        QCOMPARE(writeHealthTable(io::realFileSystem(), table, SaveTarget{path, {}}), QString());
        QFile json(path);
        QVERIFY(json.open(QIODevice::ReadOnly));
        const QJsonObject answer = QJsonDocument::fromJson(json.readAll()).object();
        QCOMPARE(answer[u"history"_s].toArray().size(), 1);
        QCOMPARE(answer[u"tags_omitted"_s].toInt(), 3);
    }

    void anAlarmNamesTheLayerAndGoesToIt()
    {
        WindowFixture ui;
        const QString run = twoTags(ui, true);
        QVERIFY(!run.isEmpty());
        QVERIFY(ui.open(run));
        ui.window().showPage(PageId::Health);
        QVERIFY(ui.settle());
        auto* page = ui.find<HealthPage>("healthPage");
        QCOMPARE(page->alarmList()->count(), 1);
        const QString text = page->alarmList()->item(0)->text();
        QVERIFY2(text.startsWith(u"global_step6 · "_s) && text.contains(u"NaN"_s), qPrintable(text));
        page->alarmList()->setFocus();
        page->alarmList()->setCurrentRow(0);
        const QModelIndex now = page->table()->currentIndex();
        QVERIFY(now.isValid());
        QVERIFY(text.contains(now.siblingAtColumn(0).data().toString()));
        QCOMPARE(now.siblingAtColumn(0).data(SeverityRole).toInt(), 2);

        // The chart of tags has both, and marks the one; Enter opens the other.
        auto* overTags = ui.find<SeriesChart>("healthOverTags");
        QCOMPARE(overTags->points().size(), size_t{2});
        QVERIFY(overTags->points()[1].marked);
        QVERIFY(!overTags->points()[0].marked);
        QCOMPARE(overTags->current(), 1);
        overTags->setFocus();
        QTest::keyClick(overTags, Qt::Key_Left);
        QCOMPARE(overTags->current(), 0);
        QVERIFY(overTags->accessibleDescription().contains(u"global_step3"_s));
        QTest::keyClick(overTags, Qt::Key_Return);
        QVERIFY(ui.settle());
        QCOMPARE(ui.checkpoint()->tag, std::string("global_step3"));
        ui.window().showPage(PageId::Health);
        QVERIFY(ui.settle());
        QCOMPARE(page->alarmList()->count(), 1); // of the run
    }

    /// Neither wrong nor sound.
    void whatWasNotReadIsNotCalledWrong()
    {
        WindowFixture ui;
        const QString lost = copiedSample("zero3-w4", ui.folder(u"lost"_s));
        QVERIFY(QFile::remove(lost + u"/global_step5/bf16_zero_pp_rank_1_mp_rank_00_optim_states.pt"_s));
        QVERIFY(ui.open(lost));
        ui.window().showPage(PageId::Health);
        QVERIFY(ui.settle());
        auto* page = ui.find<HealthPage>("healthPage");
        const QString summary = ui.find<QLabel>("healthSummary")->text();
        QVERIFY2(summary.startsWith(u"Nothing looks wrong in what was read."_s), qPrintable(summary));
        QVERIFY(page->alarmList()->count() > 0);
        for (int row = 0; row < page->alarmList()->count(); ++row)
            QVERIFY(page->alarmList()->item(row)->text().startsWith(u"Not read: "_s));
        const QModelIndex layer = page->model()->index(page->model()->rowNamed("layers.0"), 0);
        QCOMPARE(layer.data().toString(), u"layers.0 · not all read"_s);
        QVERIFY(layer.data(SeverityRole).toInt() < 1);
        page->alarmList()->setCurrentRow(0); // goes to its layer
        QVERIFY(page->alarmList()->item(0)->text().contains(
            page->table()->currentIndex().siblingAtColumn(0).data(CopyRole).toString()));
    }

    void whatTheCheckpointDoesNotHaveIsNotCalledSound()
    {
        WindowFixture ui;
        const QString weights = copiedSample("zero2-w2", ui.folder(u"weights"_s));
        for (const QString& tag : {u"/global_step3/"_s, u"/global_step6/"_s}) {
            for (const QString& name : QDir(weights + tag).entryList({u"*optim_states.pt"_s}))
                QVERIFY(QFile::remove(weights + tag + name));
        }
        QVERIFY(ui.open(weights));
        ui.window().showPage(PageId::Health);
        QVERIFY(ui.settle());
        const auto* summary = ui.find<QLabel>("healthSummary");
        QVERIFY2(summary->text().startsWith(u"Nothing looks wrong in what was read."_s)
                && summary->text().contains(
                    u"Cannot be judged: updates and moments: there are no optimizer states."_s),
            qPrintable(summary->text()));
    }

    void everyElementCanBeRead()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero3-w4")));
        ui.window().showPage(PageId::Health);
        QVERIFY(ui.settle());
        auto* page = ui.find<HealthPage>("healthPage");
        QVERIFY(ui.find<QLabel>("healthSummary")->text().contains(u"no other tag"_s));
        QTest::mouseClick(ui.find<QPushButton>("healthExact"), Qt::LeftButton);
        QVERIFY(ui.settle());
        QVERIFY(page->model()->rowCount() > 3);
        QVERIFY(!ui.find<QLabel>("healthSummary")->text().contains(u'≈'));
    }

    /// Layers that are built alike are a series; a norm next to them is none of it.
    void linesJoinPointsOfOneSeriesOnly()
    {
        Theme theme;
        SeriesChart chart(theme);
        chart.resize(400, 200);
        const auto inkBetween = [&](const QString& second) { // halfway between both points
            chart.setPoints(u"x"_s, {{u"a"_s, 1.5, false, u"s"_s}, {u"b"_s, 1.5, false, second}}, {});
            const QImage image = chart.grab().toImage();
            const QRgb accent = theme.colour(ThemeRole::Accent).rgb();
            int found = 0;
            for (int y = 0; y < image.height(); ++y)
                found += image.pixel(image.width() / 2, y) == accent ? 1 : 0;
            return found;
        };
        QVERIFY(inkBetween(u"s"_s) > 0);
        QCOMPARE(inkBetween(u"norm"_s), 0);
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero3-w4")));
        ui.window().showPage(PageId::Health);
        QVERIFY(ui.settle());
        const auto& points = ui.find<SeriesChart>("healthOverLayers")->points();
        QCOMPARE(points[0].label, u"layers.0"_s);
        QCOMPARE(points[0].series, points[1].series);
        for (size_t i = 2; i < points.size(); ++i)
            QCOMPARE(std::ranges::count(points, points[i].series, &SeriesChart::Point::series), 1);
        ui.find<QComboBox>("healthRows")->setCurrentIndex(1);
        const QString title = ui.find<SeriesChart>("healthOverLayers")->title();
        QVERIFY2(title.startsWith(u"Update over the parameters of "_s), qPrintable(title));
    }

    void chartsHaveTheScaleThatTheirValuesNeed()
    {
        Theme theme;
        SeriesChart chart(theme);
        chart.resize(300, 160);
        chart.setPoints(
            u"x"_s, {{u"a"_s, 1, false, {}}, {u"b"_s, 2, false, {}}, {u"c"_s, NAN, false, {}}}, {});
        QVERIFY(!chart.isLogarithmic());
        QCOMPARE(chart.title(), u"x"_s);
        QCOMPARE(chart.ticks(), (std::vector<double>{0, 1, 2, 3}));
        chart.setPoints(
            u"x"_s, {{u"a"_s, 1e-5, false, {}}, {u"b"_s, 2, false, {}}, {u"c"_s, 0, false, {}}}, {});
        QVERIFY(chart.isLogarithmic());
        QCOMPARE(chart.title(), u"x, logarithmic"_s);
        QCOMPARE(chart.accessibleName(), chart.title());
        for (const double tick : chart.ticks()) // powers of ten
            QVERIFY(std::abs(std::log10(tick) - std::round(std::log10(tick))) < 1e-9);
        QVERIFY(!chart.grab().isNull());
        QTest::keyClick(&chart, Qt::Key_End);
        QCOMPARE(chart.current(), 2);
        chart.setPoints(u"x"_s, {{u"c"_s, 0, false, {}}}, {}); // stays on its label
        QCOMPARE(chart.current(), 0);
        chart.setPoints(u"x"_s, {}, u"nothing"_s);
        QCOMPARE(chart.accessibleDescription(), u"nothing"_s);
        QVERIFY(!chart.grab().isNull());
    }
};

} // namespace

SHARDSCOPE_UI_TEST(HealthTest, WithDisplay)

#include "tst_health.moc"
