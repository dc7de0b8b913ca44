// SPDX-License-Identifier: Apache-2.0
#include "tests/ui/pages/compare_fixture.h"
#include "tests/ui/ui_tests.h"
#include "ui/dialogs/reshard_dialog.h"
#include "ui/dialogs/reshard_form.h"
#include "ui/pages/compare_page.h"
#include "ui/pages/findings_page.h"
#include "ui/pages/map_page.h"
#include "ui/pages/parameters_page.h"
#include "ui/widgets/message_bar.h"

#include <QDirIterator>
#include <QFileDialog>
#include <QSignalSpy>
#include <QTest>
#include <QToolButton>

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

/// Whether what `save` asks for is refused in the bar.
bool refuses(MessageBar* bar, const std::function<void()>& save)
{
    bar->hide();
    save();
    return QTest::qWaitFor([bar] { return bar->isVisible(); }, 10'000)
        && (bar->text().contains(u"inside the checkpoint or run"_s)
            || bar->text().contains(u"a file of the checkpoint that is read"_s));
}

} // namespace

/// What the window saves is never written into what it reads (core/engine/write/output_place.h).
class TestSavePlaces : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void init()
    {
        m_ui = std::make_unique<WindowFixture>();
        m_run = copiedSample("zero2-w2", m_ui->folder(u"run"_s));
        QVERIFY(QFile::link(m_run + u"/global_step6"_s, m_ui->folder(u"link"_s)));
        m_before = contentOf(m_run);
        QVERIFY(m_before.size() > 3);
        QVERIFY(m_ui->open(m_run));
    }

    void cleanup()
    {
        QVERIFY(contentOf(m_run) == m_before);
        m_ui.reset();
    }

    void pagesSaveElsewhere()
    {
        auto* findings = m_ui->find<FindingsPage>("findingsPage");
        auto* parameters = m_ui->find<ParametersPage>("parametersPage");
        auto* bar = m_ui->find<MessageBar>("windowMessages");
        for (const QString& path : placesOfTheRun()) {
            QVERIFY2(
                refuses(bar, [&] { m_ui->find<MapPage>("mapPage")->savePicture(path); }), qPrintable(path));
            QVERIFY2(refuses(bar, [&] { parameters->saveRows(path); }), qPrintable(path));
            m_ui->window().showPage(u"findings"_s);
            QVERIFY2(refuses(m_ui->find<MessageBar>("findingsMessages"),
                         [&] { findings->saveReport(CheckReport::Json, path); }),
                qPrintable(path));
        }
        parameters->saveRows(m_ui->folder(u"beside.csv"_s));
        QTRY_VERIFY(QFile::exists(m_ui->folder(u"beside.csv"_s)));
    }

    void plansAreSavedElsewhere()
    {
        ReshardDialog* dialog = m_ui->window().showReshardDialog();
        QSignalSpy planned(dialog, &ReshardDialog::previewShown);
        dialog->form()->setTarget(m_ui->folder(u"out"_s));
        dialog->form()->setWorldSize(3);
        QVERIFY(planned.wait(30'000));
        for (const QString& path : placesOfTheRun()) {
            const auto save = [&] {
                dialog->findChild<QPushButton*>(u"reshardSave"_s)->click();
                auto* ask = dialog->findChild<QFileDialog*>(u"planFileDialog"_s);
                Q_EMIT ask->fileSelected(path);
                delete ask;
            };
            QVERIFY2(refuses(dialog->findChild<MessageBar*>(), save), qPrintable(path));
        }
    }

    void comparisonsAreSavedOutsideOfBoth()
    {
        const QString other = copiedSample("zero1-w2", m_ui->folder(u"other"_s));
        const auto before = contentOf(other);
        QVERIFY(compareWith(*m_ui, other));
        auto* page = m_ui->find<ComparePage>("comparePage");
        auto* bar = m_ui->find<MessageBar>("compareMessages");
        for (const QString& folder : {m_run, other}) {
            QVERIFY2(refuses(bar, [&] { page->saveReport(folder + u"/new"_s); }), qPrintable(folder));
            QVERIFY2(refuses(bar, [&] { page->saveRows(folder + u"/new"_s); }), qPrintable(folder));
        }
        QVERIFY(contentOf(other) == before);
    }

    /// A worker makes the rows: a filter that was just typed did not make those on screen.
    void rowsOfAComparisonHaveTheFilterThatMadeThem()
    {
        auto* page = m_ui->find<ComparePage>("comparePage");
        const auto* save = m_ui->find<QToolButton>("compareSaveRows");
        QVERIFY(!save->isEnabled());
        QVERIFY(compareWith(*m_ui, samplePath("zero2-w2/global_step3")));
        QVERIFY(save->isEnabled());
        page->setFilter(u"exp_avg"_s);
        QVERIFY(m_ui->settle());
        page->setFilter(u"no such name"_s);
        page->saveRows(m_ui->folder(u"rows.csv"_s));
        QVERIFY(m_ui->settle());
        QTRY_VERIFY(QFile::exists(m_ui->folder(u"rows.csv"_s)));
        QFile file(m_ui->folder(u"rows.csv"_s));
        QVERIFY(file.open(QIODevice::ReadOnly));
        const QString text = QString::fromUtf8(file.readAll());
        QVERIFY(text.contains(u",exp_avg,"_s)); // a row
        QVERIFY2(text.contains(u"\n# Filter: exp_avg\n"_s), qPrintable(text.left(1000)));
        QVERIFY(text.contains(u" --filter exp_avg "_s));
    }

private:
    /// New files, the pointer and a rank file, also through a link.
    [[nodiscard]] QStringList placesOfTheRun() const
    {
        return {m_run + u"/new"_s, m_run + u"/latest"_s, m_run + u"/global_step6/new"_s,
            m_run + u"/global_step6/bf16_zero_pp_rank_1_mp_rank_00_optim_states.pt"_s,
            m_ui->folder(u"link/new"_s)};
    }

    std::unique_ptr<WindowFixture> m_ui;
    QString m_run;
    std::map<QString, QByteArray> m_before;
};

SHARDSCOPE_UI_TEST(TestSavePlaces, WithDisplay)
#include "tst_save_places.moc"
