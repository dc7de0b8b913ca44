// SPDX-License-Identifier: Apache-2.0
// What dialogs that write say of findings that are known already.
#include "tests/ui/dialogs/nan_sample.h"
#include "ui/dialogs/export_dialog.h"
#include "ui/dialogs/reshard_dialog.h"
#include "ui/session/findings/check_text.h"
#include "ui/widgets/message_bar.h"

#include <QAbstractButton>
#include <QLineEdit>
#include <QMenu>
#include <QSignalSpy>
#include <QToolButton>

using namespace Qt::StringLiterals;
using namespace shardscope;
using namespace shardscope::ui;

namespace {

DoctorFinding bad(std::string_view code, Place where, Severity severity = Severity::Error)
{
    return {
        {code, severity, "what it says", std::move(where), {}}, &diagnosisOf(code), {}, CheckDepth::Bytes};
}

bool any(const std::string& /*state*/)
{
    return true;
}

} // namespace

class TestKnownFaults : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void parametersAreCountedOnce()
    {
        std::vector<DoctorFinding> known;
        QCOMPARE(copiedFaultsText(known, any), QString());
        known = {bad("non-finite", ParamAddress{"a", "fp32"}),
            bad("non-finite", ParamAddress{"a", "exp_avg"}), bad("non-finite", ParamAddress{"b", "exp_avg"})};
        QVERIFY(copiedFaultsText(known, any).startsWith(u"2 parameters hold "_s));
        const auto masters = [](const std::string& state) { return state == "fp32"; };
        QVERIFY(copiedFaultsText(known, masters).startsWith(u"1 parameter holds "_s));
        known.push_back(bad("non-finite", {})); // "and 12 more of them"
        QVERIFY(copiedFaultsText(known, any).startsWith(u"At least 2 parameters hold "_s));
        known = {bad("masters-not-copies", ParamAddress{"a", "fp32"}, Severity::Info)};
        QCOMPARE(copiedFaultsText(known, any), QString());
    }

    void theReshardDialogSaysWhatItCopies()
    {
        WindowFixture ui;
        QVERIFY(ui.open(withNan(ui)));
        checkEveryByte(ui);
        ui.window().showPage(PageId::Overview);
        ReshardDialog* dialog = ui.window().showReshardDialog();
        auto* known = dialog->findChild<MessageBar*>(u"reshardKnown"_s);
        QVERIFY(known != nullptr && known->isVisible());
        QVERIFY2(known->text().contains(u"NaN"_s) && known->text().contains(u"1 parameter holds "_s)
                && known->text().contains(u"1 record is damaged"_s),
            qPrintable(known->text()));
        known->findChild<QAbstractButton*>(u"messageAction"_s)->click();
        QTRY_VERIFY(ui.find<FindingsPage>("findingsPage")->isVisible());
    }

    void anExportOnlySpeaksOfWhatItWrites()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero2-w2")));
        ExportDialog* dialog = ui.window().showExportDialog();
        QSignalSpy shown(dialog, &PlanDialog::previewShown);
        QVERIFY(shown.wait(30'000));
        auto* known = dialog->findChild<MessageBar*>(u"exportKnown"_s);
        QVERIFY(known != nullptr && known->isHidden()); // nothing is wrong
        dialog->setKnown(std::make_shared<const std::vector<DoctorFinding>>(
            1, bad("non-finite", ParamAddress{"norm.weight", "exp_avg"})));
        QVERIFY(known->isHidden());
        for (QAction* state : dialog->findChild<QToolButton*>(u"exportStates"_s)->menu()->actions())
            state->setChecked(state->text() == "exp_avg"_L1);
        QVERIFY(shown.wait(30'000));
        QVERIFY(known->isVisible());
        dialog->findChild<QLineEdit*>(u"exportOnly"_s)->setText(u"nothing.like.this"_s);
        QVERIFY(shown.wait(30'000));
        QVERIFY(!dialog->preview().plan && known->isHidden()); // nothing is copied
    }
};

SHARDSCOPE_UI_TEST(TestKnownFaults, WithDisplay)
#include "tst_known_faults.moc"
