// SPDX-License-Identifier: Apache-2.0
// The overview as a place to start from: where its numbers, its picture and its next steps lead.
#include "tests/ui/pages/broken_sample.h"
#include "tests/ui/ui_tests.h"
#include "tests/ui/window_fixture.h"
#include "ui/controls/map_thumbnail.h"
#include "ui/controls/next_steps_list.h"
#include "ui/dialogs/export_dialog.h"
#include "ui/dialogs/reshard_dialog.h"
#include "ui/dialogs/reshard_form.h"
#include "ui/pages/findings_list.h"
#include "ui/session/findings/finding_tree_model.h"
#include "ui/text/text.h"
#include "ui/widgets/card.h"
#include "ui/widgets/elided_label.h"
#include "ui/widgets/filter_field.h"
#include "ui/widgets/link_button.h"

#include <QClipboard>
#include <QComboBox>
#include <QLabel>
#include <QListWidget>
#include <QScrollArea>
#include <QTabWidget>
#include <QTableView>

using namespace Qt::StringLiterals;
using namespace shardscope;
using namespace shardscope::ui;

namespace {

QString pageInFront(WindowFixture& ui)
{
    return ui.find<QTabWidget>("pageTabs")->currentWidget()->objectName();
}

QList<LinkButton*> linksOf(WindowFixture& ui, const char* card)
{
    return ui.find<QWidget>(card)->findChildren<LinkButton*>();
}

/// The link next to a name in a card.
LinkButton* linkOf(WindowFixture& ui, const char* card, const QString& name)
{
    for (LinkButton* link : linksOf(ui, card))
        if (link->accessibleName().startsWith(name % u": "_s))
            return link;
    return nullptr;
}

void click(WindowFixture& ui, QWidget* widget)
{
    ui.find<QScrollArea>("overviewScroll")->ensureWidgetVisible(widget);
    QTest::mouseClick(widget, Qt::LeftButton);
}

void pressOn(QWidget* widget, Qt::Key key)
{
    widget->setFocus(Qt::TabFocusReason);
    QTest::keyClick(widget, key);
}

int rowsShown(WindowFixture& ui, const char* table)
{
    return ui.find<QTableView>(table)->model()->rowCount();
}

} // namespace

class TestOverview : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    /// Names as they are, not as addresses spell them; what is left out is said.
    void theCardOfFindingsIsForPeople()
    {
        Theme theme;
        FindingsList list(theme);
        const Place first = ParamAddress{"odd.gain [0] *", "fp32", std::pair<uint64_t, uint64_t>{1, 2}};
        const Place second = ParamAddress{"odd.gain [0] *", "fp32", std::pair<uint64_t, uint64_t>{5, 9}};
        Finding finding{"non-finite", Severity::Error, "values are not finite", first, {}};
        finding.parts = {first, second};
        finding.evidence = {first.text(), second.text(), "a", "b", "c", "d", "e"};
        list.setFindings({finding}, true, {});
        QCOMPARE(list.findChild<LinkButton*>(u"findingPlace"_s)->text(), u"odd.gain [0] *#fp32[1:2]"_s);
        const auto* facts = list.findChild<ElidedLabel*>(u"findingFacts"_s);
        QVERIFY2(facts->text().startsWith(u'a'), qPrintable(facts->text()));
        // Each of its places leads there.
        const QList<LinkButton*> places = list.findChildren<LinkButton*>(u"findingPlace"_s);
        QCOMPARE(places.size(), 2);
        QCOMPARE(places[1]->text(), u"odd.gain [0] *#fp32[5:9]"_s);
        Place asked;
        connect(&list, &FindingsList::placeRequested, this, [&](const Place& where) { asked = where; });
        places[1]->click();
        QCOMPARE(asked.text(), second.text());
        QVERIFY(list.findChild<LinkButton*>(u"findingFactsMore"_s)->text().startsWith(u"and 2 more"_s));
        FindingTreeModel model(theme);
        model.setFindings({{finding, &diagnosisOf(finding.code), {}, CheckDepth::Bytes}});
        const QModelIndex row = model.index(0, FindingTreeModel::Where, model.index(0, 0));
        QCOMPARE(row.data().toString(), u"odd.gain [0] *#fp32[1:2]"_s);
        QVERIFY(model.index(0, FindingTreeModel::Where).data().toString().isEmpty()); // a kind has no place
    }

    void numbersOfParametersLeadToThem()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero3-w4")));
        const ParameterCounts counts = countParameters(*ui.checkpoint());
        const std::array<std::pair<QString, uint64_t>, 4> facts{{{u"Trainable"_s, counts.trainable},
            {u"Frozen"_s, counts.frozen}, {u"Shared"_s, counts.shared}, {u"Buffers"_s, counts.buffers}}};
        bool byKey = false;
        for (const auto& [name, count] : facts) {
            QVERIFY2(count > 0, qPrintable(name));
            ui.window().showPage(PageId::Overview);
            LinkButton* link = linkOf(ui, "parametersCard", name);
            QVERIFY2(link != nullptr, qPrintable(name));
            if (byKey)
                pressOn(link, Qt::Key_Return);
            else
                click(ui, link);
            byKey = !byKey;
            QVERIFY(ui.settle());
            QCOMPARE(pageInFront(ui), u"parametersPage"_s);
            QCOMPARE(rowsShown(ui, "parameterTable"), static_cast<int>(count));
        }
        ui.window().showPage(PageId::Overview);
        click(ui, linksOf(ui, "parametersCard").front()); // all elements
        QVERIFY(ui.settle());
        QCOMPARE(ui.find<FilterField>("filterField")->text(), QString());
        QCOMPARE(rowsShown(ui, "parameterTable"), static_cast<int>(ui.checkpoint()->params.size()));
    }

    void statesGroupsAndFilesLeadToWhatTheyCount()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero3-w4")));
        const Checkpoint& checkpoint = *ui.checkpoint();
        for (const ParamGroup& group : checkpoint.groups) {
            ui.window().showPage(PageId::Overview);
            click(ui, linksOf(ui, "groupsCard")[static_cast<qsizetype>(group.index)]);
            QVERIFY(ui.settle());
            QCOMPARE(rowsShown(ui, "parameterTable"), static_cast<int>(group.parameters));
        }
        ui.window().showPage(PageId::Overview);
        pressOn(linksOf(ui, "statesCard").front(), Qt::Key_Space);
        QVERIFY(ui.settle());
        QCOMPARE(ui.find<FilterField>("filterField")->text(), u"state:fp32"_s);
        QVERIFY(rowsShown(ui, "parameterTable") > 0);
        ui.window().showPage(PageId::Overview);
        for (LinkButton* line : linksOf(ui, "sizesCard"))
            if (line->text() == "Optimizer states"_L1)
                click(ui, line);
        QVERIFY(ui.settle());
        QCOMPARE(pageInFront(ui), u"filesPage"_s);
        QCOMPARE(rowsShown(ui, "fileTable"), static_cast<int>(checkpoint.optimFiles.size()));
        ui.window().showPage(PageId::Overview);
        click(ui, linkOf(ui, "stepsCard", u"Samples"_s));
        QVERIFY(ui.settle());
        QCOMPARE(pageInFront(ui), u"filesPage"_s);
        QCOMPARE(ui.window().selection().current().file, checkpoint.templateModel);
    }

    void everyFindingAndNumberIsALink()
    {
        WindowFixture ui;
        QVERIFY(ui.open(brokenSample(ui)));
        for (const char* card : {"identityCard", "sizesCard", "findingsCard", "provenanceCard"}) {
            const QList<LinkButton*> links = linksOf(ui, card);
            QVERIFY2(!links.isEmpty(), card);
            for (const LinkButton* link : links) {
                const QString name = link->accessibleName().isEmpty() ? link->text() : link->accessibleName();
                QVERIFY2(!name.isEmpty(), card);
                QVERIFY(link->focusPolicy() == Qt::StrongFocus);
            }
        }
        auto* finding = ui.find<LinkButton>("finding");
        QVERIFY(finding != nullptr);
        pressOn(finding, Qt::Key_Return);
        QVERIFY(pageInFront(ui) != "overviewPage"_L1);
        ui.window().showPage(PageId::Overview);
        click(ui, ui.find<LinkButton>("findingsCount"));
        QCOMPARE(pageInFront(ui), u"findingsPage"_s);
    }

    void theMapIsAPictureThatLeadsToIt()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero2-w2")));
        auto* picture = ui.find<MapThumbnail>("mapThumbnail");
        QVERIFY(!picture->picture().isNull());
        QVERIFY(!picture->accessibleName().isEmpty());
        const QImage light = picture->picture();
        QSet<QRgb> colours;
        for (int x = 0; x < light.width(); x += 2)
            colours.insert(light.pixel(x, light.height() / 2));
        QVERIFY(colours.size() > 2);
        ui.theme().setMode(ThemeMode::Dark);
        QVERIFY(ui.settle());
        QVERIFY(picture->picture() != light);
        click(ui, picture);
        QCOMPARE(pageInFront(ui), u"mapPage"_s);
    }

    void nextStepsAreWhatPlannersSay()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero3-w4")));
        auto* steps = ui.find<NextStepsList>("nextSteps");
        QCOMPARE(steps->steps().size(), size_t{6});
        const auto choose = [&](const QString& begin) {
            ui.window().showPage(PageId::Overview);
            for (LinkButton* link : steps->findChildren<LinkButton*>())
                if (link->text().startsWith(begin))
                    click(ui, link);
        };
        choose(u"Convert"_s);
        auto* reshard = ui.window().findChild<ReshardDialog*>();
        QVERIFY(reshard != nullptr);
        QVERIFY(reshard->form()->wish());
        QCOMPARE(reshard->form()->wish()->options.form, TargetForm::Universal);
        reshard->close();
        choose(u"Export"_s);
        QVERIFY(ui.window().findChild<ExportDialog*>() != nullptr);
        ui.window().findChild<ExportDialog*>()->close();
        choose(u"Compare"_s);
        QCOMPARE(pageInFront(ui), u"comparePage"_s);
        QStringList reasons;
        for (const QLabel* reason : steps->findChildren<QLabel*>(u"nextStepReason"_s))
            reasons.append(reason->text());
        QVERIFY2(reasons.filter(u"Repair on a copy: no. Nothing to repair"_s).size() == 1,
            qPrintable(reasons.join(u'\n')));
    }

    void aBrokenCheckpointPromisesNothing()
    {
        WindowFixture ui;
        QVERIFY(ui.open(brokenSample(ui)));
        auto* steps = ui.find<NextStepsList>("nextSteps");
        for (const NextStep& step : steps->steps())
            if (step.id == NextStepId::Resume || step.id == NextStepId::Convert)
                QVERIFY(!step.isPossible());
        for (const QLabel* reason : steps->findChildren<QLabel*>(u"nextStepReason"_s))
            QVERIFY2(
                !reason->text().contains(u"--"_s), qPrintable(reason->text())); // no options of a terminal
    }

    void cardsAreInAFixedOrder()
    {
        WindowFixture ui;
        for (const char* sample : {"zero3-w4", "pipeline-w4", "zero1-w2"}) {
            QVERIFY(ui.open(samplePath(sample)));
            const auto topOf = [&](const char* name) { return ui.find<QWidget>(name)->geometry().topLeft(); };
            QVERIFY(topOf("identityCard").x() < topOf("mapCard").x());
            QCOMPARE(topOf("identityCard").y(), topOf("mapCard").y());
            QCOMPARE(topOf("identityCard").x(), topOf("findingsCard").x());
            QCOMPARE(topOf("mapCard").x(), topOf("nextCard").x());
        }
        QApplication::setLayoutDirection(Qt::RightToLeft);
        QVERIFY(ui.settle());
        QCoreApplication::processEvents();
        QVERIFY(ui.find<QWidget>("identityCard")->x() > ui.find<QWidget>("mapCard")->x());
        QApplication::setLayoutDirection(Qt::LeftToRight);
    }

    void namesWithoutSpacesDoNotMakeCardsWider()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero3-w4")));
        QCoreApplication::processEvents();
        for (const QWidget* card : ui.find<QWidget>("overviewCards")->findChildren<Card*>())
            for (const QWidget* part : card->findChildren<QWidget*>())
                if (part->isVisible())
                    QVERIFY2(card->rect().contains(QRect(part->mapTo(card, QPoint()), part->size())),
                        qPrintable(card->objectName() % u'/' % part->objectName()));
    }

    void longNumbersAreShortAndExactInTheToolTip()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero3-w4")));
        const auto* options = ui.find<QWidget>("groupsCard")->findChild<QLabel*>(u"cardText"_s);
        QVERIFY2(options->text().contains(u"lr\u00A00.00192\u00A0"_s), qPrintable(options->text()));
        QVERIFY(options->toolTip().contains(u"0.0019200000000000003"_s));
    }

    void theCommandOpensTheSameView()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero2-w2")));
        ui.window().showPage(PageId::Parameters);
        ui.find<FilterField>("filterField")->setText(u"layers.*.bias size>1"_s);
        QVERIFY(ui.settle());
        ui.window().selection().selectParam(ParamId{2});
        ui.window().actionSet()[ActionId::CopyCommand]->trigger();
        const QString command = QApplication::clipboard()->text();
        QVERIFY2(command.startsWith(
                     u"shardscope-gui --page parameters --filter 'layers.*.bias size>1' --select "_s),
            qPrintable(command));
        QVERIFY2(command.contains(samplePath("zero2-w2")), qPrintable(command));
        WindowFixture other;
        other.window().showPageWhenOpen(u"parameters"_s);
        other.window().filterWhenOpen(u"layers.*.bias size>1"_s);
        other.window().selectWhenOpen(command.section(u"--select "_s, 1).section(u' ', 0, 0).remove(u'\''));
        QVERIFY(other.open(samplePath("zero2-w2")));
        QCoreApplication::processEvents();
        QCOMPARE(pageInFront(other), u"parametersPage"_s);
        QCOMPARE(other.find<FilterField>("filterField")->text(), u"layers.*.bias size>1"_s);
        QCOMPARE(other.window().selection().current().param, ParamId{2});
    }
};

SHARDSCOPE_UI_TEST(TestOverview, WithDisplay)
#include "tst_overview.moc"
