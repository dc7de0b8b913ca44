// SPDX-License-Identifier: Apache-2.0
#include "core/doctor/examine.h"
#include "tests/ui/dialogs/nan_sample.h"
#include "tests/ui/pages/broken_sample.h"
#include "tests/ui/ui_tests.h"
#include "tests/ui/window_fixture.h"
#include "ui/controls/job_card.h"
#include "ui/controls/next_steps_list.h"
#include "ui/pages/change_set_panel.h"
#include "ui/pages/findings_page.h"
#include "ui/session/findings/finding_tree_model.h"
#include "ui/text/text.h"
#include "ui/widgets/message_bar.h"

#include <QAbstractButton>
#include <QComboBox>
#include <QDirIterator>
#include <QFileDialog>
#include <QInputDialog>
#include <QLabel>
#include <QLineEdit>
#include <QListWidget>
#include <QPushButton>
#include <QTest>
#include <QTreeView>

using namespace Qt::StringLiterals;
using namespace shardscope;
using namespace shardscope::ui;

namespace {

QMap<QString, QByteArray> contentsOf(const QString& folder)
{
    QMap<QString, QByteArray> all;
    QDirIterator files(folder, QDir::Files, QDirIterator::Subdirectories);
    while (files.hasNext()) {
        QFile file(files.next());
        all[file.fileName()] = file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
    }
    return all;
}

/// Selects the kind and ticks its box, as a user does.
bool tick(WindowFixture& ui, const char* code)
{
    auto* page = ui.find<FindingsPage>("findingsPage");
    ui.window().showPage(u"findings"_s);
    const QModelIndex kind = page->model()->find({code, Severity::Error, {}, {}});
    if (!kind.isValid())
        return false;
    ui.find<QTreeView>("findingTree")->setCurrentIndex(kind);
    auto* box = ui.find<QAbstractButton>("findingTick");
    if (!box->isVisible())
        return false;
    box->click();
    return ui.settle();
}

/// What the list says of the repair of a kind of errors.
QString repairOf(WindowFixture& ui, const char* code)
{
    auto* model = ui.find<FindingsPage>("findingsPage")->model();
    return model->find({code, Severity::Error, {}, {}}).data().toString().section(u" · "_s, -1);
}

} // namespace

class TestRepair : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void saysWhatThePlanSays()
    {
        WindowFixture ui;
        const auto repair = [&ui] { return repairOf(ui, "rank-missing"); };
        // ZeRO-3 has no 16-bit copies of the masters, and the run no other tag.
        const QString lost = copiedSample("zero3-w4", ui.folder(u"lost"_s));
        QVERIFY(QFile::remove(lost + u"/global_step5/bf16_zero_pp_rank_1_mp_rank_00_optim_states.pt"_s));
        QVERIFY(ui.open(lost));
        const auto steps = ui.find<NextStepsList>("nextSteps")->steps();
        QVERIFY(steps.front().id == NextStepId::Repair && steps.front().isPossible());
        const auto* note = ui.find<QLabel>("nextStepNote");
        QVERIFY(note != nullptr && note->text().startsWith(u"Not with the default settings: "_s));
        QCOMPARE(repair(), u"repair not planned yet"_s);
        ui.window().showPage(PageId::Findings); // where each repair is planned
        ui.find<QTreeView>("findingTree")
            ->setCurrentIndex(ui.find<FindingsPage>("findingsPage")
                                  ->model()
                                  ->find({"rank-missing", Severity::Error, {}, {}}));
        QVERIFY(ui.settle());
        QCOMPARE(repair(), u"repair needs other settings"_s);
        const auto* whyNot = ui.find<QLabel>("findingWhyNot");
        QVERIFY(whyNot->isVisible());
        QVERIFY2(whyNot->text().startsWith(u"Not with the default settings: "_s)
                && whyNot->text().contains(u"no 16-bit copies"_s) && whyNot->text().contains(u"donor"_s),
            qPrintable(whyNot->text()));
        QVERIFY(tick(ui, "rank-missing"));
        QVERIFY(!ui.find<ChangeSetPanel>("changeSet")->preview().plan);
        QCOMPARE(repair(), u"repair refused"_s);
        QVERIFY(!ui.find<QLineEdit>("repairCommand")->isVisible()); // it would fail
        for (const QSize size : {QSize(900, 600), QSize(1366, 768)}) {
            ui.window().resize(size);
            QVERIFY(ui.settle());
            QTRY_VERIFY2(whyNot->height() >= whyNot->heightForWidth(whyNot->width()),
                qPrintable(u"%1: %2"_s.arg(size.width()).arg(whyNot->height())));
        }
        // There is room for the longest choice.
        for (const char* name : {"repairMasters", "repairMoments"}) {
            const auto* box = ui.find<QComboBox>(name);
            QVERIFY2(box->width() >= box->sizeHint().width()
                    && box->width() > box->fontMetrics().horizontalAdvance(box->itemText(0)),
                name);
            QVERIFY(box->toolTip().endsWith(box->currentText()));
        }
        ui.find<QLineEdit>("repairDonor")->setText(samplePath("zero3-w4"));
        QCOMPARE(repair(), u"chosen for repair"_s);
        QVERIFY(ui.settle());
        QVERIFY(ui.find<ChangeSetPanel>("changeSet")->preview().plan);
        QCOMPARE(repair(), u"will be repaired"_s);
    }

    /// Only reading every byte finds the NaN: its repair is planned with that.
    void saysWhatThePlanOfValuesSays()
    {
        WindowFixture ui;
        const QString run = copiedSample("zero3-w4", ui.folder(u"nan"_s));
        QFile shard(run + u"/global_step5/bf16_zero_pp_rank_1_mp_rank_00_optim_states.pt"_s);
        QVERIFY(shard.open(QIODevice::ReadWrite) && shard.seek(shard.size() * 3 / 4 / 64 * 64));
        QCOMPARE(shard.write(QByteArray::fromHex("0000c07f")), 4);
        shard.close();
        QVERIFY(ui.open(run));
        checkEveryByte(ui);
        QCOMPARE(repairOf(ui, "non-finite"), u"repair needs other settings"_s);
        QCOMPARE(repairOf(ui, "record-corrupt"), u"repair needs other settings"_s);
        ui.find<QTreeView>("findingTree")
            ->setCurrentIndex(ui.find<FindingsPage>("findingsPage")
                                  ->model()
                                  ->find({"record-corrupt", Severity::Error, {}, {}}));
        QVERIFY(ui.find<QLabel>("findingWhyNot")->isVisible());
        QVERIFY(!ui.find<QLineEdit>("findingCommand")->isVisible());
        ui.window().showPage(PageId::Overview);
        QVERIFY(ui.settle());
        QTRY_VERIFY(ui.find<QLabel>("nextStepNote") != nullptr);
        QVERIFY(ui.find<QLabel>("nextStepNote")->text().startsWith(u"Not with the default settings: "_s));
    }

    void saysThatNothingIsToBeRepaired()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero2-w2")));
        auto* page = ui.find<FindingsPage>("findingsPage");
        ui.window().showPage(PageId::Findings);
        page->prepareRepair();
        QVERIFY(ui.settle());
        const auto* bar = ui.find<MessageBar>("findingsMessages");
        QVERIFY(bar->isVisible() && bar->text().startsWith(u"Nothing to repair."_s));
        QVERIFY(bar->text().contains(u"universal_checkpoint_info"_s));
        // A finding without a command has no field for one, although nothing is against its repair.
        const QModelIndex opaque = page->model()->find({"pickle-opaque", Severity::Info, {}, {}});
        QVERIFY(opaque.isValid());
        ui.find<QTreeView>("findingTree")->setCurrentIndex(opaque);
        QVERIFY(!ui.find<QLineEdit>("findingCommand")->isVisible());
    }

    void fromClickToVerifiedCopy()
    {
        WindowFixture ui;
        const QString broken = brokenSample(ui);
        const auto before = contentsOf(broken);
        QVERIFY(ui.open(broken));
        ui.window().showPage(PageId::Findings);
        QVERIFY(ui.settle());
        QCOMPARE(repairOf(ui, "rank-missing"), u"can be repaired"_s);
        QVERIFY(tick(ui, "rank-missing"));
        auto* panel = ui.find<ChangeSetPanel>("changeSet");
        QVERIFY(panel->isVisible());
        const auto* title = ui.find<QLabel>("changeSetTitle"); // it must not push the page out of the window
        QVERIFY(panel->minimumSizeHint().width() < title->fontMetrics().horizontalAdvance(title->text()));
        QVERIFY2(
            panel->preview().plan, panel->preview().problem ? panel->preview().problem->message.c_str() : "");
        auto* list = ui.find<QListWidget>("changeList");
        QCOMPARE(list->count(), static_cast<int>(panel->preview().plan->repair->changes.size()));
        QVERIFY(list->count() > 1);
        QVERIFY(ui.find<QLabel>("changeSetTitle")->text().contains(u" 1 change on a copy"_s));
        QVERIFY(!list->item(0)->text().startsWith(u' ') && list->item(1)->text().startsWith(u' '));
        QVERIFY(ui.find<QLineEdit>("repairCommand")->text().contains(u"--fix rank-missing"_s));
        // The copy goes next to the run, into a folder that need not exist, or one that is chosen.
        QCOMPARE(ui.find<QLineEdit>("repairTarget")->text(), QString(broken + u"-repaired"_s));
        ui.find<QPushButton>("repairTargetBrowse")->click();
        auto* dialog = ui.find<QFileDialog>("repairFolderDialog");
        QVERIFY(dialog != nullptr);
        dialog->close();
        panel->setTarget(u"relative"_s);
        QVERIFY(ui.settle());
        QVERIFY(panel->preview().plan && !ui.find<QPushButton>("repairApply")->isEnabled());
        panel->setTarget(broken);
        QVERIFY(ui.settle());
        QVERIFY(!ui.find<QPushButton>("repairApply")->isEnabled());
        panel->setTarget(ui.folder(u"repaired"_s));
        QVERIFY(ui.settle());
        QVERIFY(ui.find<QLineEdit>("repairCommand")->text().contains(ui.folder(u"repaired"_s)));
        ui.find<QPushButton>("repairApply")->click();
        Job* job = ui.window().jobs().jobs().first();
        QTRY_VERIFY_WITH_TIMEOUT(!job->isActive(), 60'000);
        QVERIFY2(job->state() == JobState::Succeeded, describe(job->error()).c_str());
        QVERIFY2(
            job->outcome().summary.contains(u"it is repaired"_s), qUtf8Printable(job->outcome().summary));
        QVERIFY(contentsOf(broken) == before);
        ui.window().findChild<JobCard*>()->findChild<QPushButton*>(u"jobOpen"_s)->click();
        QVERIFY(ui.settle());
        QVERIFY(ui.checkpoint()->complete);
        // The copy reports its reconstructed values, on the page and in the overview.
        auto* page = ui.find<FindingsPage>("findingsPage");
        bool marked = false;
        for (int row = 0; row < page->model()->rowCount(); ++row)
            marked = marked || page->model()->keyOf(page->model()->index(row, 0)).code == "marked";
        QVERIFY(marked);
        const auto& findings = ui.checkpoint()->findings;
        QVERIFY(std::any_of(findings.begin(), findings.end(),
            [](const Finding& finding) { return finding.code == "marked"; }));
        QVERIFY(!panel->isVisible());
        undo(ui, before);
    }

    void donorsAreListed()
    {
        WindowFixture ui;
        QVERIFY(ui.open(brokenSample(ui)));
        QVERIFY(tick(ui, "rank-missing"));
        auto* donors = ui.find<QComboBox>("repairDonors");
        QTRY_COMPARE(donors->count(), 2); // the nearest one, and the other tag
        QCOMPARE(donors->itemText(1),
            u"global_step3 · step 3, 3 before · complete · has fp32, exp_avg, exp_avg_sq, weight"_s);
        donors->setCurrentIndex(1);
        Q_EMIT donors->activated(1);
        QVERIFY(ui.settle());
        QVERIFY(ui.find<QLineEdit>("repairDonor")->text().endsWith(u"/global_step3"_s));
        QVERIFY(ui.find<ChangeSetPanel>("changeSet")->preview().plan != nullptr);
        QVERIFY(ui.find<QLineEdit>("repairCommand")->text().contains(u"/global_step3"_s));
        if (const QByteArray to = qgetenv("SHARDSCOPE_PICTURES"); !to.isEmpty())
            QVERIFY(ui.window().grab().save(QString::fromLocal8Bit(to) + u"/repair.png"_s));
    }

    void theBannerLeadsToTheRepair()
    {
        WindowFixture ui;
        QVERIFY(ui.open(brokenSample(ui)));
        auto* page = ui.find<QWidget>("overviewPage");
        auto* repair = page->findChild<QPushButton*>(u"messageAction"_s);
        QTRY_VERIFY(repair != nullptr && repair->isVisible());
        repair->click();
        QVERIFY(ui.settle());
        QTRY_VERIFY(ui.find<ChangeSetPanel>("changeSet")->isVisible());
        QVERIFY(ui.settle());
        QVERIFY(ui.find<ChangeSetPanel>("changeSet")->preview().plan != nullptr);
    }

    void choicesMakeAnotherPlan()
    {
        WindowFixture ui;
        QVERIFY(ui.open(brokenSample(ui)));
        QVERIFY(tick(ui, "rank-missing"));
        auto* panel = ui.find<ChangeSetPanel>("changeSet");
        QStringList before;
        auto* list = ui.find<QListWidget>("changeList");
        for (int row = 0; row < list->count(); ++row)
            before.append(list->item(row)->text());
        ui.find<QComboBox>("repairMoments")->setCurrentIndex(1);
        QVERIFY(ui.settle());
        QVERIFY(panel->preview().plan != nullptr);
        QStringList after;
        for (int row = 0; row < list->count(); ++row)
            after.append(list->item(row)->text());
        QVERIFY(before != after);
        QVERIFY(ui.find<QLineEdit>("repairCommand")->text().contains(u"--moments zeros"_s));
        ui.find<QLineEdit>("repairValues")->setText(u"step=9; 1:lr=0.5"_s);
        QVERIFY(ui.settle());
        QVERIFY(panel->preview().plan != nullptr);
        const auto& changes = panel->preview().plan->repair->changes;
        QVERIFY(std::any_of(changes.begin(), changes.end(),
            [](const RepairChange& change) { return change.code == "set" && change.after == "0.5"; }));
        QVERIFY(ui.find<QLineEdit>("repairCommand")->text().contains(u"--set step=9 --set 1:lr=0.5"_s));
        ui.find<QLineEdit>("repairValues")->setText(u"step=soon"_s);
        QVERIFY(ui.settle());
        QVERIFY(panel->preview().problem);
        ui.find<QLineEdit>("repairValues")->clear();
        // An invalid donor shows an error, and Apply is disabled.
        ui.find<QComboBox>("repairMasters")->setCurrentIndex(2);
        ui.find<QLineEdit>("repairDonor")->setText(ui.folder(u"not there"_s));
        QVERIFY(ui.settle());
        QVERIFY(panel->preview().problem);
        QVERIFY(ui.find<MessageBar>("changeSetMessages")->isVisible());
        QVERIFY(!ui.find<QPushButton>("repairApply")->isEnabled());
    }

    void untickingUndoes()
    {
        WindowFixture ui;
        QVERIFY(ui.open(brokenSample(ui)));
        QVERIFY(tick(ui, "rank-missing"));
        auto* panel = ui.find<ChangeSetPanel>("changeSet");
        QVERIFY(panel->preview().plan != nullptr);
        QTest::keyClick(ui.find<QAbstractButton>("findingTick"), Qt::Key_Space);
        QVERIFY(ui.settle());
        QVERIFY(!panel->isVisible());
        QVERIFY(panel->preview().plan == nullptr);
        panel->apply(ui.folder(u"repaired"_s));
        QVERIFY(ui.window().jobs().jobs().isEmpty());
    }

private:
    /// The page of the repaired copy offers to undo it, and the source is written again.
    static void undo(WindowFixture& ui, const QMap<QString, QByteArray>& before)
    {
        ui.window().showPage(u"findings"_s);
        QTRY_VERIFY(ui.find<MessageBar>("findingsMessages")->isVisible());
        ui.find<MessageBar>("findingsMessages")->findChild<QPushButton*>(u"messageAction"_s)->click();
        auto* ask = ui.find<QInputDialog>("undoFolderDialog");
        QVERIFY(ask != nullptr);
        QVERIFY(ask->textValue().endsWith(u"repaired-unrepaired"_s));
        ask->setTextValue(ui.folder(u"undone"_s));
        ask->accept();
        const Job* undo = ui.window().jobs().jobs().last();
        QCOMPARE(ui.window().jobs().jobs().size(), 2);
        QTRY_VERIFY_WITH_TIMEOUT(!undo->isActive(), 60'000);
        QVERIFY2(undo->state() == JobState::Succeeded, describe(undo->error()).c_str());
        auto undone = contentsOf(ui.folder(u"undone/global_step6"_s));
        for (auto file = before.begin(); file != before.end(); ++file) {
            const QString name = file.key().section(u'/', -1);
            if (file.key().contains(u"/global_step6/"_s))
                QCOMPARE(undone.value(ui.folder(u"undone/global_step6/"_s) % name), file.value());
        }
    }
};

SHARDSCOPE_UI_TEST(TestRepair, WithDisplay)
#include "tst_repair.moc"
