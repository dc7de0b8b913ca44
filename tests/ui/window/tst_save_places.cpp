// SPDX-License-Identifier: Apache-2.0
#include "tests/ui/pages/compare_fixture.h"
#include "tests/ui/ui_tests.h"
#include "ui/dialogs/reshard_dialog.h"
#include "ui/dialogs/reshard_form.h"
#include "ui/pages/compare_page.h"
#include "ui/pages/findings_page.h"
#include "ui/pages/parameters_page.h"
#include "ui/widgets/message_bar.h"

#include <QDirIterator>
#include <QFileDialog>
#include <QSignalSpy>
#include <QTest>

using namespace Qt::StringLiterals;
using namespace shardscope;
using namespace shardscope::ui;

namespace {

/// Every file below a folder with its content.
std::map<QString, QByteArray> contentOf(const QString& folder)
{
    std::map<QString, QByteArray> out;
    QDirIterator files(folder, QDir::Files | QDir::Hidden, QDirIterator::Subdirectories);
    while (files.hasNext()) {
        QFile file(files.next());
        if (file.open(QIODevice::ReadOnly))
            out[file.fileName()] = file.readAll();
    }
    return out;
}

} // namespace

/// What the window saves is never written into what it reads (core/engine/write/output_place.h).
class TestSavePlaces : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void nothingIsWrittenIntoACheckpoint()
    {
        WindowFixture ui;
        const QString run = copiedSample("zero2-w2", ui.folder(u"run"_s));
        const QString other = copiedSample("zero1-w2", ui.folder(u"other"_s));
        QVERIFY(QFile::link(run + u"/global_step6"_s, ui.folder(u"link"_s)));
        const auto before = std::pair(contentOf(run), contentOf(other));
        QVERIFY(before.first.size() > 3 && before.second.size() > 3);
        QVERIFY(ui.open(run));
        QVERIFY(compareWith(ui, other));
        auto* compare = ui.find<ComparePage>("comparePage");
        auto* findings = ui.find<FindingsPage>("findingsPage");
        auto* parameters = ui.find<ParametersPage>("parametersPage");
        QSignalSpy rowsSaved(parameters, &Page::saved);
        ReshardDialog* dialog = ui.window().showReshardDialog();
        QSignalSpy planned(dialog, &ReshardDialog::previewShown);
        dialog->form()->setDestination(ui.folder(u"out"_s));
        dialog->form()->setWorldSize(3);
        QVERIFY(planned.wait(30'000));

        const auto refused = [&](const MessageBar* bar) {
            const bool said = QTest::qWaitFor([bar] { return bar->isVisible(); }, 10'000);
            return said
                && (bar->text().contains(u"inside the checkpoint or run"_s)
                    || bar->text().contains(u"a file of the checkpoint that is read"_s));
        };
        const QString rank = run + u"/global_step6/bf16_zero_pp_rank_1_mp_rank_00_optim_states.pt"_s;
        QVERIFY(QFile::exists(rank));
        for (const QString& path : QStringList{run + u"/new"_s, run + u"/latest"_s,
                 run + u"/global_step6/new"_s, rank, ui.folder(u"link/new"_s)}) {
            auto* windowBar = ui.find<MessageBar>("windowMessages");
            windowBar->hide();
            ui.window().saveMapPicture(path);
            QVERIFY2(refused(windowBar), qPrintable(path));
            windowBar->hide();
            parameters->saveRows(path);
            QVERIFY2(refused(windowBar), qPrintable(path));
            auto* findingsBar = ui.find<MessageBar>("findingsMessages");
            ui.window().showPage(u"findings"_s);
            findingsBar->hide();
            findings->saveReport(CheckReport::Json, path);
            QVERIFY2(refused(findingsBar), qPrintable(path));
            auto* dialogBar = dialog->findChild<MessageBar*>();
            dialogBar->hide();
            dialog->findChild<QPushButton*>(u"reshardSave"_s)->click();
            auto* ask = dialog->findChild<QFileDialog*>(u"planFileDialog"_s);
            Q_EMIT ask->fileSelected(path);
            delete ask;
            QVERIFY2(refused(dialogBar), qPrintable(path));
        }
        ui.window().showPage(u"compare"_s);
        auto* compareBar = ui.find<MessageBar>("compareMessages");
        for (const QString& folder : {run, other}) {
            compareBar->hide();
            compare->saveReport(folder + u"/new"_s);
            QVERIFY2(refused(compareBar), qPrintable(folder));
            compareBar->hide();
            compare->saveRows(folder + u"/new"_s);
            QVERIFY2(refused(compareBar), qPrintable(folder));
        }
        QVERIFY(std::pair(contentOf(run), contentOf(other)) == before);

        parameters->saveRows(ui.folder(u"beside.csv"_s));
        QTRY_VERIFY(QFile::exists(ui.folder(u"beside.csv"_s)));
    }
};

SHARDSCOPE_UI_TEST(TestSavePlaces, WithDisplay)
#include "tst_save_places.moc"
