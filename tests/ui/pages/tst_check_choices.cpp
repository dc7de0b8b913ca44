// SPDX-License-Identifier: Apache-2.0
#include "tests/ui/pages/broken_sample.h"
#include "tests/ui/ui_tests.h"
#include "tests/ui/window_fixture.h"
#include "ui/controls/check_chooser.h"
#include "ui/controls/check_target_chooser.h"
#include "ui/pages/check_bar.h"
#include "ui/pages/findings_page.h"
#include "ui/pages/thread_links.h"
#include "ui/session/findings/finding_tree_model.h"
#include "ui/widgets/elided_label.h"

#include <QDesktopServices>
#include <QDialogButtonBox>
#include <QFile>
#include <QJsonDocument>
#include <QJsonObject>
#include <QLabel>
#include <QPushButton>
#include <QSpinBox>
#include <QTest>
#include <QTextBrowser>
#include <QToolButton>
#include <QTreeWidget>

using namespace Qt::StringLiterals;
using namespace shardscope;
using namespace shardscope::ui;

namespace {

bool hasKind(const FindingTreeModel& model, const char* code)
{
    for (int row = 0; row < model.rowCount(); ++row)
        if (model.keyOf(model.index(row, 0)).code == code)
            return true;
    return false;
}

QTreeWidgetItem* itemOf(const QTreeWidget& tree, const QString& code)
{
    const auto items = tree.findItems(code, Qt::MatchExactly | Qt::MatchRecursive, 3);
    return items.isEmpty() ? nullptr : items.first();
}

} // namespace

class TestCheckChoices : public QObject
{
    Q_OBJECT
public Q_SLOTS:
    void takeUrl(const QUrl& url) { m_opened = url; }

private Q_SLOTS:
    void threadsAreLinks()
    {
        QCOMPARE(threadAddress(u"DS#2319"_s), u"https://github.com/deepspeedai/DeepSpeed/issues/2319"_s);
        QCOMPARE(threadAddress(u"BS-MDS#343"_s),
            u"https://github.com/bigscience-workshop/Megatron-DeepSpeed/issues/343"_s);
        QCOMPARE(threadAddress(u"THUDM/slime#1546"_s), u"https://github.com/THUDM/slime/issues/1546"_s);
        QCOMPARE(threadAddress(u"unknown#7"_s), QString());
        QCOMPARE(threadAddress(u"a/b#7\"><script>"_s), QString());
        QCOMPARE(threadLinks("DS#1, reproduced with <0.19.8>", u"#123456"_s),
            u"<a href=\"https://github.com/deepspeedai/DeepSpeed/issues/1\" "
            u"style=\"color:#123456\">DS#1</a>, "
            u"reproduced with &lt;0.19.8&gt;"_s);
        // Every thread of the catalogue has an address.
        for (const Diagnosis* diagnosis : diagnoses()) {
            for (const QString& thread : QString::fromUtf8(diagnosis->threads).split(u", "_s))
                QVERIFY2(!thread.contains(u'#') || !threadAddress(thread).isEmpty(), qPrintable(thread));
        }
    }

    /// The error that is its evidence names the file, too.
    void aPlaceIsNamedOnce()
    {
        WindowFixture ui;
        const QString run = copiedSample("zero2-universal-w2", ui.folder(u"torn"_s));
        const QString name = u"mp_rank_00_model_states.pt"_s;
        QVERIFY(QFile::resize(run + u"/global_step5/"_s + name, 4000));
        QVERIFY(ui.open(run));
        QVERIFY(ui.window().showPage(u"findings"_s));
        QVERIFY(ui.settle());
        const auto* model = ui.find<FindingsPage>("findingsPage")->model();
        ui.find<QTreeView>("findingTree")
            ->setCurrentIndex(model->find({"file-torn", Severity::Error, {}, {}}));
        const QString text = ui.find<QTextBrowser>("findingText")->toPlainText();
        QVERIFY2(text.count(name) == 1 && text.contains(u"the file ends within"_s), qPrintable(text));
        QVERIFY2(text.contains(u"refill the rest."_s), qPrintable(text)); // a sentence
    }

    void aThreadOpensInABrowser()
    {
        WindowFixture ui;
        QVERIFY(ui.open(brokenSample(ui)));
        auto* page = ui.find<FindingsPage>("findingsPage");
        QVERIFY(ui.window().showPage(u"findings"_s));
        page->check();
        QVERIFY(ui.settle());
        auto* text = page->findChild<QTextBrowser*>(u"findingText"_s);
        QVERIFY2(text->toHtml().contains(u"https://github.com/"_s), qPrintable(text->toPlainText()));
        QDesktopServices::setUrlHandler(u"https"_s, this, "takeUrl");
        Q_EMIT text->anchorClicked(QUrl(threadAddress(u"DS#2319"_s)));
        QDesktopServices::unsetUrlHandler(u"https"_s);
        QCOMPARE(m_opened, QUrl(u"https://github.com/deepspeedai/DeepSpeed/issues/2319"_s));
    }

    void checksCanBeLeftOut()
    {
        WindowFixture ui;
        QVERIFY(ui.open(brokenSample(ui)));
        auto* page = ui.find<FindingsPage>("findingsPage");
        QVERIFY(ui.window().showPage(u"findings"_s));
        page->check();
        QVERIFY(ui.settle());
        QVERIFY(page->model()->rowCount() > 0);
        const std::string code = page->model()->keyOf(page->model()->index(0, 0)).code;
        auto* bar = page->findChild<CheckBar*>(u"checkBar"_s);
        auto* choose = bar->findChild<QToolButton*>(u"checkChoose"_s);
        choose->click();
        auto* chooser = bar->findChild<CheckChooser*>(u"checkChooser"_s);
        QVERIFY(chooser != nullptr && chooser->isVisible());
        if (const QByteArray to = qgetenv("SHARDSCOPE_PICTURES"); !to.isEmpty())
            QVERIFY(chooser->grab().save(QString::fromLocal8Bit(to) + u"/checks.png"_s));
        auto* tree = chooser->findChild<QTreeWidget*>(u"checkChoices"_s);
        QCOMPARE(tree->topLevelItemCount(), 4);
        size_t checks = 0;
        for (int tier = 0; tier < 4; ++tier) {
            QVERIFY(!tree->topLevelItem(tier)->text(1).isEmpty());
            checks += static_cast<size_t>(tree->topLevelItem(tier)->childCount());
        }
        QCOMPARE(checks, diagnoses().size());
        QVERIFY2(
            tree->topLevelItem(0)->text(2).endsWith(u" s"_s), qPrintable(tree->topLevelItem(0)->text(2)));
        QTreeWidgetItem* item = itemOf(*tree, QString::fromStdString(code));
        QVERIFY(item != nullptr);
        item->setCheckState(0, Qt::Unchecked);
        QCOMPARE(item->parent()->checkState(0), Qt::PartiallyChecked);
        chooser->findChild<QDialogButtonBox*>()->button(QDialogButtonBox::Ok)->click();
        QCOMPARE(bar->skipped(), std::vector<std::string>{code});
        page->check();
        QVERIFY(ui.settle());
        QVERIFY(!hasKind(*page->model(), code.c_str()));
        // It does not claim more than it looked at.
        const QString count = u"%1 of %2 checks"_s.arg(diagnoses().size() - 1).arg(diagnoses().size());
        const QString facts = bar->findChild<ElidedLabel*>(u"checkFacts"_s)->text();
        QVERIFY2(facts.contains(count) && !facts.contains(u"every byte"_s), qPrintable(facts));
        // All of them again.
        choose->click();
        auto* again = bar->findChildren<CheckChooser*>().last();
        again->findChild<QPushButton*>(u"checkChooseAll"_s)->click();
        again->findChild<QDialogButtonBox*>()->button(QDialogButtonBox::Ok)->click();
        QVERIFY(bar->skipped().empty());
        page->check();
        QVERIFY(ui.settle());
        QVERIFY(hasKind(*page->model(), code.c_str()));
    }

    void reportsNameTheUseThatWasChecked()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero2-w2")));
        auto* page = ui.find<FindingsPage>("findingsPage");
        ui.window().showPage(u"findings"_s);
        QTest::mouseClick(ui.find<QToolButton>("checkFor"), Qt::LeftButton);
        auto* chooser = ui.find<CheckTargetChooser>("checkTargetChooser");
        chooser->findChild<QSpinBox*>(u"targetRanks"_s)->setValue(7);
        QTest::keyClick(chooser, Qt::Key_Return);
        QVERIFY(ui.settle());
        const auto saved = [&](CheckReport form, const QString& name) {
            page->saveReport(form, ui.folder(name));
            ui.settle();
            QFile file(ui.folder(name));
            return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
        };
        const QJsonObject answer = QJsonDocument::fromJson(saved(CheckReport::Json, u"use.json"_s)).object();
        const QString command = answer[u"report"_s].toObject()[u"command"_s].toString();
        QVERIFY2(command.contains(u" --for world-size=7"_s), qPrintable(command));
        QCOMPARE(answer[u"results"_s][0].toObject()[u"use"_s].toString(), u"world-size=7"_s);
        QVERIFY(saved(CheckReport::Html, u"use.html"_s).contains("<dt>Intended use</dt><dd>world-size=7"));
        QVERIFY(saved(CheckReport::Markdown, u"use.md"_s).contains("- Intended use: world-size=7\n"));
        QVERIFY(saved(CheckReport::Sarif, u"use.sarif"_s).contains("\"use\": \"world-size=7\""));
    }

private:
    QUrl m_opened;
};

SHARDSCOPE_UI_TEST(TestCheckChoices, WithDisplay)
#include "tst_check_choices.moc"
