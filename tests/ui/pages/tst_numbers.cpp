// SPDX-License-Identifier: Apache-2.0
// Every count and size that the window shows of a checkpoint is that of the command's JSON, on all samples.
#include "tests/support/process.h"
#include "tests/ui/ui_tests.h"
#include "tests/ui/window_fixture.h"
#include "ui/dialogs/reshard_dialog.h"
#include "ui/dialogs/reshard_form.h"
#include "ui/layoutmap/geometry/map_stack.h"
#include "ui/models/file_table_model.h"
#include "ui/pages/parameters_page.h"
#include "ui/text/text.h"
#include "ui/widgets/elided_label.h"

#include <QAbstractButton>
#include <QDir>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QLabel>
#include <QListWidget>
#include <QSignalSpy>
#include <QSpinBox>
#include <QTabWidget>
#include <QTableView>
#include <QTest>

using namespace Qt::StringLiterals;
using namespace shardscope;
using namespace shardscope::ui;

namespace {

/// The answer of a command of the same program.
QJsonObject answerOf(std::vector<std::string> words)
{
    words.insert(words.begin(), {windowPath(), "--headless"});
    words.emplace_back("--json");
    const test::ProcessResult result
        = test::runProcess(words, {.environment = {{"QT_QPA_PLATFORM", "offscreen"}}});
    return QJsonDocument::fromJson(QByteArray::fromStdString(result.out)).object();
}

uint64_t countAt(const QJsonObject& object, const QString& name)
{
    return static_cast<uint64_t>(object[name].toDouble());
}

QStringList textsIn(QWidget* card)
{
    QStringList texts;
    for (const QWidget* widget : card->findChildren<QWidget*>()) {
        if (const auto* label = qobject_cast<const QLabel*>(widget))
            texts.append(label->text());
        else if (const auto* link = qobject_cast<const QAbstractButton*>(widget))
            texts.append(link->text());
    }
    return texts;
}

/// The value next to a name in a card; empty if the card does not have it.
QString factOf(QWidget* card, const QString& name)
{
    const QStringList texts = textsIn(card);
    const qsizetype at = texts.indexOf(name);
    return at < 0 ? QString() : texts.value(at + 1);
}

} // namespace

class TestNumbers : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void initTestCase() { m_ui = std::make_unique<WindowFixture>(); }
    void cleanupTestCase() { m_ui.reset(); }

    void overview_data() { addSamples(); }
    void overview()
    {
        open();
        const QJsonObject inspected = answerOf({"inspect", path()});
        compareParameters(inspected[u"parameters"_s].toObject());
        compareFiles(inspected[u"files"_s].toObject());
        compareTraining(inspected);
        QStringList states;
        for (const QJsonValue& state : inspected[u"states"_s].toArray())
            states += state.toString();
        QStringList linked;
        for (const auto* link : m_ui->find<QWidget>("identityCard")->findChildren<QAbstractButton*>())
            if (link->accessibleName().startsWith(u"States: "_s))
                linked += link->text();
        QCOMPARE(linked, states);
        const QJsonArray groups = inspected[u"param_groups"_s].toArray();
        const QStringList shown = textsIn(m_ui->find<QWidget>("groupsCard"));
        for (qsizetype i = 0; i < std::min<qsizetype>(groups.size(), 12); ++i) {
            const QJsonObject group = groups[i].toObject();
            const QString begin = u"Group %1 · "_s.arg(group[u"index"_s].toInt())
                % parametersText(countAt(group, u"parameters"_s)) % u" · "_s
                % shortCountText(countAt(group, u"elements"_s)) % u" elements"_s;
            QVERIFY2(std::ranges::any_of(shown, [&](const QString& text) { return text.startsWith(begin); }),
                qPrintable(begin % u" in "_s % shown.join(u" | "_s)));
        }
        QCOMPARE(m_ui->find<QListWidget>("tagList")->count(), inspected[u"tags"_s].toArray().size());
        comparePadding();
    }

    void tables_data() { addSamples(); }
    void tables()
    {
        open();
        auto* page = m_ui->find<ParametersPage>("parametersPage");
        const QJsonArray params = answerOf({"params", path()})[u"parameters"_s].toArray();
        QVERIFY(m_ui->window().showPage(u"parameters"_s));
        QVERIFY(m_ui->settle());
        QCOMPARE(page->model()->rowCount(), params.size());
        std::map<QString, uint64_t> elements;
        for (const QJsonValue& param : params)
            elements[param.toObject()[u"name"_s].toString()] = countAt(param.toObject(), u"elements"_s);
        for (int row = 0; row < page->model()->rowCount(); ++row) {
            const auto cell = [&](ParamColumn column) {
                return page->model()->textOf(page->model()->rowAt(row), column);
            };
            QCOMPARE(cell(ParamColumn::Elements), countText(elements.at(cell(ParamColumn::Name))));
        }
        const QJsonArray files = answerOf({"files", path()})[u"files"_s].toArray();
        QVERIFY(m_ui->window().showPage(u"files"_s));
        QVERIFY(m_ui->settle());
        const QAbstractItemModel* model = m_ui->find<QTableView>("fileTable")->model();
        QCOMPARE(model->rowCount(), files.size());
    }

    void findings_data() { addSamples(); }
    void findings()
    {
        open();
        const QJsonObject checked = answerOf({"check", path()})[u"results"_s].toArray()[0].toObject();
        std::map<QString, uint64_t> counts;
        for (const QJsonValue& finding : checked[u"findings"_s].toArray())
            ++counts[finding.toObject()[u"severity"_s].toString()];
        const uint64_t worst = counts[u"error"_s] > 0 ? counts[u"error"_s] : counts[u"warning"_s];
        const auto* tabs = m_ui->find<QTabWidget>("pageTabs");
        const QString wanted = worst == 0 ? u"Findings"_s : u"Findings (%1)"_s.arg(countText(worst));
        const int tab = tabs->indexOf(m_ui->find<QWidget>("findingsPage"));
        QTRY_COMPARE(tabs->tabText(tab).remove(u'&'), wanted);
    }

    void plan_data() { addSamples(); }
    void plan()
    {
        open();
        const QString target = m_ui->folder(u"planned"_s);
        const QJsonObject answer
            = answerOf({"reshard", path(), target.toStdString(), "-w", "4", "--dry-run"})[u"plan"_s]
                  .toObject();
        if (!m_ui->window().findChild<QAction*>(u"actionReshard"_s)->isEnabled()) {
            QVERIFY(answer.isEmpty());
            return;
        }
        ReshardDialog* dialog = m_ui->window().showReshardDialog();
        QSignalSpy shown(dialog, &ReshardDialog::previewShown);
        dialog->form()->setTarget(target);
        dialog->form()->setWorldSize(4);
        const auto isPlanned = [&] {
            const auto& plan = dialog->preview().plan;
            return !shown.isEmpty() && (answer.isEmpty() ? !plan : plan && plan->reshard->worldSize == 4);
        };
        QTRY_VERIFY_WITH_TIMEOUT(isPlanned(), 30'000);
        if (answer.isEmpty())
            return dialog->reject();
        const QString summary = dialog->findChild<QLabel*>(u"reshardSummary"_s)->text();
        const QString wanted = u"Reads %1, writes %2 in %3"_s.arg(
            bytesText(countAt(answer, u"reads_bytes"_s)), bytesText(countAt(answer, u"writes_bytes"_s)),
            filesText(static_cast<uint64_t>(answer[u"files"_s].toArray().size())));
        QVERIFY2(summary.startsWith(wanted), qPrintable(summary % u" / "_s % wanted));
        QCOMPARE(
            dialog->findChild<QListWidget*>(u"reshardBatch"_s)->count(), answer[u"batch"_s].toArray().size());
        dialog->reject();
    }

private:
    void addSamples()
    {
        QTest::addColumn<QString>("sample");
        const QDir folder(samplePath(""));
        for (const QString& name : folder.entryList(QDir::Dirs | QDir::NoDotAndDotDot))
            QTest::newRow(qPrintable(name)) << name;
    }

    std::string path() const { return samplePath(qPrintable(m_sample)).toStdString(); }

    void open()
    {
        QFETCH(QString, sample);
        m_sample = sample;
        QVERIFY(m_ui->open(samplePath(qPrintable(sample))));
        QVERIFY(m_ui->checkpoint() != nullptr);
        QTRY_VERIFY_WITH_TIMEOUT(!factOf(m_ui->find<QWidget>("identityCard"), u"Folder"_s).isEmpty(), 10'000);
        QVERIFY(m_ui->settle());
    }

    void compareParameters(const QJsonObject& counts)
    {
        auto* card = m_ui->find<QWidget>("parametersCard");
        if (m_ui->checkpoint()->params.empty()) {
            QCOMPARE(countAt(counts, u"count"_s), uint64_t{0});
            return;
        }
        QVERIFY(textsIn(card).contains(shortCountText(countAt(counts, u"elements"_s)) % u" elements"_s));
        QCOMPARE(factOf(card, u"Trainable"_s), countText(countAt(counts, u"trainable"_s)));
        const QString frozen = countText(countAt(counts, u"frozen"_s));
        QCOMPARE(factOf(card, u"Frozen"_s).section(u' ', 0, 0), frozen);
        QCOMPARE(factOf(card, u"Shared"_s), countText(countAt(counts, u"shared"_s)));
        QCOMPARE(factOf(card, u"Buffers"_s), countText(countAt(counts, u"buffers"_s)));
        // The table and the status bar count by the same rule.
        const QString begin = parametersText(countAt(counts, u"count"_s)) % u" with "_s
            % shortCountText(countAt(counts, u"elements"_s)) % u" elements"_s;
        const QString summary = m_ui->find<QLabel>("parameterSummary")->text();
        QVERIFY2(summary.startsWith(begin), qPrintable(summary % u" / "_s % begin));
        const QString status = m_ui->find<ElidedLabel>("statusTitle")->text();
        QVERIFY2(status.contains(u" · "_s % parametersText(countAt(counts, u"count"_s)) % u" · "_s),
            qPrintable(status));
    }

    void compareFiles(const QJsonObject& files)
    {
        const QString count = filesText(countAt(files, u"count"_s));
        const QString size = bytesText(countAt(files, u"bytes"_s));
        QCOMPARE(m_ui->find<QAbstractButton>("fileCount")->text(), count);
        QVERIFY(textsIn(m_ui->find<QWidget>("sizesCard")).contains(size));
        const QString summary = m_ui->find<QLabel>("fileSummary")->text();
        QCOMPARE(summary.split(u" · "_s).mid(0, 2), QStringList({count, size}));
        const QString status = m_ui->find<ElidedLabel>("statusTitle")->text();
        QVERIFY2(status.split(u" · "_s).contains(size), qPrintable(status));
    }

    void compareTraining(const QJsonObject& inspected)
    {
        if (m_ui->checkpoint()->params.empty())
            return;
        auto* card = m_ui->find<QWidget>("stepsCard");
        const QJsonObject step = inspected[u"step"_s].toObject();
        if (!step[u"global_steps"_s].isNull())
            QVERIFY(textsIn(card).contains(u"Step %1"_s.arg(countText(countAt(step, u"global_steps"_s)))));
        if (!step[u"global_samples"_s].isNull())
            QCOMPARE(factOf(card, u"Samples"_s), countText(countAt(step, u"global_samples"_s)));
        if (!step[u"skipped_steps"_s].isNull())
            QCOMPARE(factOf(card, u"Skipped"_s), countText(countAt(step, u"skipped_steps"_s)));
        QStringList own;
        for (const QJsonValue& value : step[u"optimizer"_s].toArray()) {
            const QString text = QString::number(value.toDouble(), 'g', 12);
            if (!value.isNull() && !own.contains(text))
                own.append(text);
        }
        if (own.size() <= 8)
            QCOMPARE(factOf(card, u"Optimizer"_s), own.join(u", "_s));
        const QJsonObject parallel = inspected[u"parallel"_s].toObject();
        const int ranks = parallel[u"dp"_s].toInt() * parallel[u"tp"_s].toInt() * parallel[u"pp"_s].toInt();
        const QString title = m_ui->find<ElidedLabel>("statusTitle")->text();
        if (title.contains(u" rank"_s))
            QVERIFY2(title.contains(ranks == 1 ? u" 1 rank "_s : u" %1 ranks "_s.arg(countText(ranks))),
                qPrintable(title));
    }

    /// Of all units, against the padding of each rank's flat buffers.
    void comparePadding()
    {
        if (m_ui->checkpoint()->params.empty() || m_ui->checkpoint()->units.empty())
            return;
        uint64_t padding = 0;
        for (const QJsonValue& value : answerOf({"layout", path()})[u"groups"_s].toArray()) {
            const QJsonObject group = value.toObject();
            for (const QJsonValue& rank : group[u"ranks"_s].toArray())
                padding += countAt(group, u"partition_elements"_s) - countAt(rank.toObject(), u"elements"_s);
        }
        const QString text = textsIn(m_ui->find<QWidget>("statesCard")).last();
        const QString wanted = padding == 0 ? u"There is no padding."_s
            : padding == 1
            ? u"Padding is not counted: 1 element on all ranks together."_s
            : u"Padding is not counted: %1 elements on all ranks together."_s.arg(countText(padding));
        QCOMPARE(text, wanted);
    }

    std::unique_ptr<WindowFixture> m_ui;
    QString m_sample;
};

SHARDSCOPE_UI_TEST(TestNumbers, WithDisplay)
#include "tst_numbers.moc"
