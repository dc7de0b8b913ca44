// SPDX-License-Identifier: Apache-2.0
#include "tests/support/faulting_file_system.h"
#include "tests/ui/pages/broken_sample.h"
#include "tests/ui/ui_tests.h"
#include "tests/ui/window_fixture.h"
#include "ui/layoutmap/layout_map_view.h"
#include "ui/layoutmap/map_canvas.h"
#include "ui/models/model_roles.h"
#include "ui/pages/details_panel.h"
#include "ui/pages/explorer_panel.h"
#include "ui/pages/findings_page.h"
#include "ui/pages/tensor_page.h"
#include "ui/session/findings/finding_store.h"
#include "ui/session/findings/finding_ways.h"
#include "ui/shell/page_window.h"
#include "ui/text/text.h"
#include "ui/widgets/elided_label.h"

#include <QAbstractButton>
#include <QComboBox>
#include <QFile>
#include <QJsonDocument>
#include <QJsonObject>
#include <QLabel>
#include <QLineEdit>
#include <QRegularExpression>
#include <QSignalSpy>
#include <QTabWidget>
#include <QTest>
#include <QTextBrowser>
#include <QTreeView>

#include <atomic>

using namespace Qt::StringLiterals;
using namespace shardscope;
using namespace shardscope::ui;

namespace {

QModelIndex kindOf(const FindingTreeModel& model, const char* code)
{
    for (int row = 0; row < model.rowCount(); ++row)
        if (model.keyOf(model.index(row, 0)).code == code)
            return model.index(row, 0);
    return {};
}

constexpr const char* kShard = "bf16_zero_pp_rank_1_mp_rank_00_optim_states.pt";

/// A sample with one changed bit in rank 1's masters; empty if the change failed.
QString flippedSample(const WindowFixture& ui)
{
    const QString run = copiedSample("zero2-w2", ui.folder(u"flipped"_s));
    QFile shard(run + u"/global_step6/"_s + QLatin1String(kShard));
    if (!shard.open(QIODevice::ReadWrite)
        || !shard.seek(shard.size() * 3 / 4)) // in the first group's masters
        return {};
    const QByteArray byte = shard.peek(1);
    return shard.write(QByteArray(1, static_cast<char>(byte[0] ^ 0x20))) == 1 ? run : QString();
}

/// Files that cannot be opened while they are held, so that a check does not end too early for a test.
class HeldFiles : public io::FaultingFileSystem
{
public:
    HeldFiles()
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
        m_held.wait(true);
        return io::FaultingFileSystem::openRead(path);
    }

private:
    std::atomic<bool> m_held{false};
};

void checkMetadata(WindowFixture& ui)
{
    ui.window().showPage(u"findings"_s);
    ui.find<QComboBox>("checkDepth")->setCurrentIndex(static_cast<int>(CheckDepth::Metadata));
    ui.find<QAbstractButton>("checkStart")->click();
    QVERIFY(ui.settle());
}

void checkEveryByte(WindowFixture& ui)
{
    ui.window().showPage(u"findings"_s);
    ui.find<QComboBox>("checkDepth")->setCurrentIndex(static_cast<int>(CheckDepth::Bytes));
    ui.find<QAbstractButton>("checkStart")->click();
    QVERIFY(ui.settle());
    QVERIFY(kindOf(*ui.find<FindingsPage>("findingsPage")->model(), "record-corrupt").isValid());
}

} // namespace

class TestFindings : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    /// Four states of an 8-bit optimizer have one message that differs in their names.
    void whatDiffersInANameIsOneRow()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("bnb8bit-w2")));
        ui.window().showPage(PageId::Findings);
        QVERIFY(ui.settle());
        const auto* model = ui.window().findChild<FindingTreeModel*>();
        const QModelIndex kind = kindOf(*model, "not-supported");
        QCOMPARE(model->findingsAt(kind).size(), size_t{4});
        QCOMPARE(model->rowCount(kind), 1);
        const QModelIndex row = model->index(0, 0, kind);
        QCOMPARE(model->findingsAt(row).size(), size_t{4});
        QVERIFY2(row.data().toString().contains(u"“qmap1”, “qmap2”, “absmax1”, “absmax2”"_s),
            qPrintable(row.data().toString()));
        ui.find<QTreeView>("findingTree")->setCurrentIndex(kind);
        QCOMPARE(ui.find<QTextBrowser>("findingText")->toPlainText().count(u"rounded again"_s), 1);
    }

    void examinesWhatIsOpened()
    {
        WindowFixture ui;
        QVERIFY(ui.open(brokenSample(ui)));
        auto* page = ui.find<FindingsPage>("findingsPage");
        QVERIFY(kindOf(*page->model(), "rank-missing").isValid());
        auto* tabs = ui.find<QTabWidget>("pageTabs");
        const int tab = tabs->indexOf(page);
        QVERIFY(tabs->tabText(tab).contains(u'('));
        QVERIFY(tabs->tabToolTip(tab).contains(u"error"_s));
        QVERIFY(ui.find<ElidedLabel>("checkFacts")->text().contains(u"metadata"_s));
        QVERIFY(ui.find<ElidedLabel>("checkFacts")
                    ->text()
                    .contains(u"bytes"_s)); // a small checkpoint is read in full
        // Errors first.
        Severity last = Severity::Error;
        for (int row = 0; row < page->model()->rowCount(); ++row) {
            const Severity now = page->model()->keyOf(page->model()->index(row, 0)).severity;
            QVERIFY(now <= last);
            last = now;
        }
    }

    void showsWhatOpeningFoundWithoutACheck()
    {
        WindowFixture ui;
        JobContext job;
        const auto opened = openCheckpoint(io::realFileSystem(), toPath(brokenSample(ui)), {}, job);
        QVERIFY(opened && !opened->checkpoint->findings.empty());
        const CheckpointPtr& checkpoint = opened->checkpoint;
        const auto isOpening = [&](const FindingStore::Findings& found) {
            return std::equal(found->begin(), found->end(), checkpoint->findings.begin(),
                checkpoint->findings.end(), [](const Finding& a, const Finding& b) {
                    return a.code == b.code && a.message == b.message;
                });
        };
        CheckRun run(io::realFileSystem());
        const FindingStore store(run);
        QVERIFY(!store.isChecked(*checkpoint));
        QVERIFY(isOpening(store.of(checkpoint)));
        const auto detailed = store.detailed(checkpoint);
        for (const DoctorFinding& made : *detailed)
            QCOMPARE(made.diagnosis->code, made.finding.code);
        // A check of another checkpoint changes nothing.
        run.start({toPath(samplePath("zero3-w4")), {}}, {CheckDepth::Metadata});
        QTRY_VERIFY_WITH_TIMEOUT(!run.isRunning(), 30'000);
        QVERIFY(isOpening(store.of(checkpoint)));
        // A check of this one has them, too, each once.
        CheckPlace place{toPath(ui.folder(u"broken"_s)), {}, checkpoint->tagFolder};
        run.start(place, {CheckDepth::Bytes});
        QVERIFY(isOpening(store.of(checkpoint)));
        QTRY_VERIFY_WITH_TIMEOUT(!run.isRunning(), 30'000);
        QVERIFY(store.isChecked(*checkpoint));
        const auto found = store.of(checkpoint);
        const auto missing = std::count_if(found->begin(), found->end(),
            [](const Finding& finding) { return finding.code == "rank-missing"; });
        QCOMPARE(missing, 1);
        QCOMPARE(store.of(checkpoint), found); // collected once for all views
    }

    void detailsShowTheFindingsOfWhatIsSelected()
    {
        WindowFixture ui;
        QVERIFY(ui.open(flippedSample(ui)));
        const CheckpointPtr checkpoint = ui.window().session().checkpoint();
        const auto& opening = checkpoint->findings; // only the check sees it
        QVERIFY(std::none_of(opening.begin(), opening.end(),
            [](const Finding& finding) { return finding.code == "record-corrupt"; }));
        const auto said = [&](FileId file) {
            ui.window().selection().selectFile(file);
            ui.settle();
            QStringList texts;
            for (const QLabel* label : ui.find<DetailsPanel>("detailsPanel")->findChildren<QLabel*>())
                texts.append(label->text());
            return texts.join(u'\n');
        };
        QVERIFY(said(checkpoint->optimFiles[1]).contains(u"CRC"_s));
        QVERIFY(!said(checkpoint->optimFiles[0]).contains(u"CRC"_s));
    }

    void saysCalmlyThatNothingWasFound()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero3-w4")));
        QVERIFY(ui.window().showPage(u"findings"_s));
        auto* page = ui.find<FindingsPage>("findingsPage");
        for (const char* chip : {"checkErrors", "checkWarnings", "checkNotes"})
            if (auto* button = ui.find<QAbstractButton>(chip); page->model()->rowCount() > 0)
                button->click();
        QVERIFY(ui.find<QLabel>("findingsEmpty")->isVisible());
        ui.window().session().close();
        QVERIFY(ui.settle());
        QCOMPARE(page->model()->rowCount(), 0);
    }

    void byKeyboardAlone()
    {
        WindowFixture ui;
        QVERIFY(ui.open(brokenSample(ui)));
        QTest::keyClick(&ui.window(), Qt::Key_7, Qt::ControlModifier);
        auto* page = ui.find<FindingsPage>("findingsPage");
        QCOMPARE(ui.find<QTabWidget>("pageTabs")->currentWidget(), page);
        QTRY_VERIFY(page->isAncestorOf(QApplication::focusWidget()));
        QTest::keyClick(&ui.window(), Qt::Key_F8);
        QVERIFY(ui.settle());
        auto* tree = ui.find<QTreeView>("findingTree");
        QTRY_VERIFY(tree->hasFocus());
        QTest::keyClick(tree, Qt::Key_Home);
        QTest::keyClick(tree, Qt::Key_Down);
        QVERIFY(tree->currentIndex().parent().isValid());
        const auto findings = page->model()->findingsAt(tree->currentIndex());
        QVERIFY(ui.find<QTextBrowser>("findingText")
                    ->toPlainText()
                    .contains(sentenceText(findings.front()->finding.message)));
    }

    void depthIsChosen()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero2-w2")));
        ui.window().showPage(u"findings"_s);
        auto* depth = ui.find<QComboBox>("checkDepth");
        auto* facts = ui.find<ElidedLabel>("checkFacts");
        depth->setCurrentIndex(static_cast<int>(CheckDepth::Bytes));
        ui.find<QAbstractButton>("checkStart")->click();
        QVERIFY(ui.find<QAbstractButton>("checkStop")->isVisible());
        QVERIFY(ui.settle());
        QVERIFY(!ui.find<QAbstractButton>("checkStop")->isVisible());
        QVERIFY(facts->text().contains(u"bytes"_s));
        depth->setCurrentIndex(static_cast<int>(CheckDepth::Names));
        ui.find<QAbstractButton>("checkStart")->click();
        QVERIFY(ui.settle());
        QVERIFY(facts->text().startsWith(u"names"_s) && !facts->text().contains(u"headers"_s));
    }

    void theListStaysAsTheUserLeftIt()
    {
        WindowFixture ui;
        QVERIFY(ui.open(flippedSample(ui)));
        ui.window().showPage(u"findings"_s);
        checkEveryByte(ui);
        auto* tree = ui.find<QTreeView>("findingTree");
        const auto* facts = ui.find<ElidedLabel>("checkFacts");
        QVERIFY2(
            facts->text().contains(QRegularExpression(u"^Read every byte at \\d\\d:\\d\\d: \\d+ error"_s)),
            qPrintable(facts->text()));
        // The worst finding is chosen until the user chooses another one.
        QVERIFY(tree->currentIndex() == tree->model()->index(0, 0));
        QVERIFY(tree->model()->rowCount() > 1);
        tree->setCurrentIndex(tree->model()->index(1, 0));
        tree->collapse(tree->model()->index(0, 0));
        const QString chosen = tree->currentIndex().data().toString();
        auto* notes = ui.find<QAbstractButton>("checkNotes");
        notes->click();
        notes->click(); // the list is made again
        QVERIFY(!tree->isExpanded(tree->model()->index(0, 0)));
        QVERIFY(tree->isExpanded(tree->model()->index(1, 0)));
        QCOMPARE(tree->currentIndex().data().toString(), chosen);
        checkEveryByte(ui);
        QVERIFY(tree->currentIndex() == tree->model()->index(0, 0)); // a new check
    }

    void aFindingLeadsToItsElementAndState()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero2-w2")));
        const Checkpoint& checkpoint = *ui.checkpoint();
        const ParamId param = *checkpoint.findParam("layers.0.mlp.up.weight");
        const Place where(
            ParamAddress{"layers.0.mlp.up.weight", "exp_avg", std::pair<uint64_t, uint64_t>{700, 701}});
        const auto ways = waysTo(checkpoint, where);
        QVERIFY(!ways.empty());
        QVERIFY(ways.front().thing.param == param);
        QCOMPARE(ways.front().thing.element, std::optional<uint64_t>(700));
        QCOMPARE(ways.front().page, PageId::Map);
        ui.window().showPage(u"map"_s);
        ui.window().selection().select(ways.front().thing);
        const MapCanvas& canvas = *ui.find<LayoutMapView>("layoutMap")->canvas();
        const auto pinned = canvas.marks().pinned;
        QVERIFY(pinned.has_value());
        const MapSource& source = canvas.stack()->sourceAt(*pinned);
        QCOMPARE(source.state().name, std::string("exp_avg"));
        const MapCell cell = source.cellAt(pinned->row, pinned->element);
        QVERIFY(cell.param == param);
        QCOMPARE(cell.paramOffset + (pinned->element - cell.begin), uint64_t{700});
        // The values page was hidden; it goes there when it is shown, and then by itself.
        ui.window().showPage(u"tensor"_s);
        auto* page = ui.find<TensorPage>("tensorPage");
        QVERIFY(ui.settle());
        QCOMPARE(page->cursor().element(), uint64_t{700});
        QCOMPARE(page->source()->state, std::string("exp_avg"));
        SelectedThing other = ways.front().thing;
        other.element = 3;
        ui.window().selection().select(other);
        QCOMPARE(page->cursor().element(), uint64_t{3});
        // All of a parameter: no element is meant.
        const auto whole = waysTo(checkpoint, Place(ParamAddress{"norm.weight", "fp32", {}}));
        QVERIFY(!whole.empty() && !whole.front().thing.element.has_value());
    }

    void theMapShowsWhatOnlyTheDoctorSees()
    {
        WindowFixture ui;
        QVERIFY(ui.open(flippedSample(ui)));
        const auto worst = [&] {
            const MapQuery& query = ui.find<LayoutMapView>("layoutMap")->canvas()->source()->query();
            return static_cast<int>(query.worstSeverity(1, 2, 0, query.columns()));
        };
        QCOMPARE(worst(), static_cast<int>(Severity::Error));
        checkMetadata(ui);
        QVERIFY(worst() < static_cast<int>(Severity::Error));
        checkEveryByte(ui);
        QCOMPARE(worst(), static_cast<int>(Severity::Error));
    }

    void theExplorerShowsWhatOnlyTheDoctorSees()
    {
        WindowFixture ui;
        QVERIFY(ui.open(flippedSample(ui)));
        const CheckpointPtr checkpoint = ui.window().session().checkpoint();
        const auto* model = ui.find<ExplorerPanel>("explorerPanel")->model();
        const auto lines = [&] { // the file, its rank, the other rank, the sections of both
            const FileId damaged = checkpoint->optimFiles[1];
            const QModelIndex file = model->indexOf(ExplorerKind::File, index(damaged));
            const QModelIndex rank = model->indexOf(ExplorerKind::Rank, 1);
            const QModelIndex other = model->indexOf(ExplorerKind::Rank, 0);
            QList<int> out;
            for (const QModelIndex& at : {file, rank, other, file.parent(), rank.parent()})
                out.append(at.data(SeverityRole).toInt());
            return out;
        };
        QCOMPARE(lines(), (QList<int>{2, 2, -1, 2, 2}));
        checkMetadata(ui);
        QCOMPARE(lines(), (QList<int>{-1, -1, -1, -1, -1}));
        checkEveryByte(ui);
        QCOMPARE(lines(), (QList<int>{2, 2, -1, 2, 2}));
        const QModelIndex file = model->indexOf(ExplorerKind::File, index(checkpoint->optimFiles[1]));
        QVERIFY(file.data(Qt::ToolTipRole).toString().contains(u"CRC"_s));
        QVERIFY(file.parent().data(Qt::ToolTipRole).toString().contains(u"1 finding"_s));
        ui.window().session().close();
        QVERIFY(ui.settle());
        QCOMPARE(model->rowCount(), 0);
    }

    void findingsArriveWhileItLooks()
    {
        WindowFixture ui;
        const QString broken = brokenSample(ui);
        CheckRun run(io::realFileSystem());
        size_t early = 0;
        QObject::connect(
            &run, &CheckRun::progressChanged, &run, [&] { early = std::max(early, run.findings().size()); });
        QObject::connect(&run, &CheckRun::changed, &run, [&] {
            if (run.isRunning())
                early = std::max(early, run.findings().size());
        });
        run.start({toPath(broken), {}}, {CheckDepth::Bytes});
        QTRY_VERIFY_WITH_TIMEOUT(!run.isRunning(), 30'000);
        QVERIFY(run.result() != nullptr);
        QVERIFY(early > 0);
        QVERIFY(!run.findings().empty());
    }

    void escapeStopsAndKeepsWhatWasFound()
    {
        HeldFiles files;
        WindowFixture ui(ThemeMode::Light, files);
        QVERIFY(ui.open(brokenSample(ui)));
        ui.window().showPage(u"findings"_s);
        ui.find<QComboBox>("checkDepth")->setCurrentIndex(static_cast<int>(CheckDepth::Bytes));
        auto* page = ui.find<FindingsPage>("findingsPage");
        files.hold(true);
        page->check();
        QTest::keyClick(page, Qt::Key_Escape);
        QVERIFY(ui.find<ElidedLabel>("checkFacts")->text().startsWith(u"Stopping"_s));
        files.hold(false);
        QVERIFY(ui.settle());
        QVERIFY(!ui.find<ElidedLabel>("checkFacts")->text().contains(u"bytes"_s));
        QVERIFY(ui.find<QAbstractButton>("checkStart")->isEnabled());
    }

    void filters()
    {
        WindowFixture ui;
        QVERIFY(ui.open(brokenSample(ui)));
        ui.window().showPage(u"findings"_s);
        auto* page = ui.find<FindingsPage>("findingsPage");
        const size_t all = page->model()->shownCount();
        auto* field = ui.find<QLineEdit>("filterField");
        field->setText(u"rank-missing"_s);
        QCOMPARE(page->model()->rowCount(), 1);
        QVERIFY(page->model()->shownCount() <= all);
        field->setText(u"no such words"_s);
        QVERIFY(ui.find<QLabel>("findingsEmpty")->isVisible());
        QTest::keyClick(&ui.window(), Qt::Key_Escape); // a word at a time, as elsewhere
        QTest::keyClick(&ui.window(), Qt::Key_Escape);
        QTest::keyClick(&ui.window(), Qt::Key_Escape);
        QCOMPARE(page->model()->shownCount(), all);
        ui.find<QAbstractButton>("checkErrors")->click();
        QVERIFY(!kindOf(*page->model(), "rank-missing").isValid());
        ui.find<QAbstractButton>("checkErrors")->click();
        QCOMPARE(page->model()->shownCount(), all);
    }

    void evidenceLeadsToItsPlace()
    {
        WindowFixture ui;
        QVERIFY(ui.open(brokenSample(ui)));
        ui.window().showPage(u"findings"_s);
        auto* page = ui.find<FindingsPage>("findingsPage");
        auto* tree = ui.find<QTreeView>("findingTree");
        const QModelIndex kind = kindOf(*page->model(), "rank-missing");
        tree->setCurrentIndex(page->model()->index(0, 0, kind));
        auto* text = ui.find<QTextBrowser>("findingText");
        QVERIFY(text->toHtml().contains(u"href=\"0\""_s));
        Q_EMIT text->anchorClicked(QUrl(u"0"_s));
        QVERIFY(ui.settle());
        const SelectedThing& thing = ui.window().selection().current();
        QVERIFY(thing.file != kNoFile);
        QVERIFY(toText(ui.checkpoint()->file(thing.file).name).contains(u"rank_1"_s));
        QCOMPARE(ui.find<QTabWidget>("pageTabs")->currentWidget()->objectName(), u"filesPage"_s);
    }

    void aWindowOfItsOwnShowsTheSame()
    {
        WindowFixture ui;
        QVERIFY(ui.open(brokenSample(ui)));
        ui.window().showPage(u"findings"_s);
        auto* window = ui.window().openPageWindow();
        auto* other = window->findChild<FindingsPage*>();
        QVERIFY(other != nullptr);
        QCOMPARE(other->model()->shownCount(), ui.find<FindingsPage>("findingsPage")->model()->shownCount());
        QVERIFY(window->windowTitle().startsWith(u"Findings"_s));
    }

    void savesReports()
    {
        WindowFixture ui;
        QVERIFY(ui.open(brokenSample(ui)));
        auto* page = ui.find<FindingsPage>("findingsPage");
        page->saveReport(CheckReport::Json, ui.folder(u"out.json"_s));
        QVERIFY(ui.settle());
        QFile json(ui.folder(u"out.json"_s));
        QVERIFY(json.open(QIODevice::ReadOnly));
        const QJsonObject answer = QJsonDocument::fromJson(json.readAll()).object();
        QVERIFY(answer.contains(u"schema"_s));
        const QString command = answer[u"report"_s].toObject()[u"command"_s].toString();
        QVERIFY2(command.startsWith(u"shardscope check "_s), qPrintable(command));
        QVERIFY2(command.contains(u" --depth "_s) && command.contains(u" --json"_s), qPrintable(command));
        page->saveReport(CheckReport::Html, ui.folder(u"out.html"_s));
        QVERIFY(ui.settle());
        QFile html(ui.folder(u"out.html"_s));
        QVERIFY(html.open(QIODevice::ReadOnly));
        const QByteArray text = html.readAll();
        QVERIFY(text.contains("rank-missing"));
        QVERIFY(text.contains("<dt>Time</dt><dd>20") && text.contains("--html "));
        page->saveReport(CheckReport::Sarif, ui.folder(u"out.sarif"_s));
        QVERIFY(ui.settle());
        QFile sarif(ui.folder(u"out.sarif"_s));
        QVERIFY(sarif.open(QIODevice::ReadOnly));
        QVERIFY(sarif.readAll().contains("2.1.0"));
    }
};

SHARDSCOPE_UI_TEST(TestFindings, WithDisplay)
#include "tst_findings.moc"
