// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/model/model_states.h"
#include "tests/ui/dialogs/reshard_fixture.h"
#include "tests/ui/ui_tests.h"
#include "ui/layoutmap/geometry/map_text.h"

#include <QComboBox>
#include <QLabel>
#include <QLineEdit>

using namespace Qt::StringLiterals;
using namespace shardscope;
using namespace shardscope::ui;

/// What the reshard dialog says of the sub-groups of ZeRO-3.
class TestReshardSubGroups : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void mapsNameWholeGroupsAlike()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero3-w4"))); // sub-groups 0 and 1 of group 0, 2 of group 1
        const Reshard dialog(ui, 8); // one sub-group in each group
        QVERIFY(dialog.settle());
        const QString before = dialog.find<QLabel>("reshardTitleBefore")->text();
        QVERIFY2(before.contains(u" · 3 sub-groups, each group drawn as one · "_s), qPrintable(before));
        const QString after = dialog.find<QLabel>("reshardTitleAfter")->text();
        QVERIFY2(!after.contains(u"sub-group"_s), qPrintable(after));
        for (const char* side : {"Before", "After"}) {
            const MapStackPtr& stack = dialog.map(side)->canvas()->stack();
            QVERIFY(stack != nullptr);
            QCOMPARE(stack->count(), 3U); // and the frozen parameters
            for (uint32_t i = 0; i < 3; ++i)
                QVERIFY2(!stack->source(i).unit().subgroup, side); // it would be in the title
        }
    }

    void mapsSayWhichGroupsDecay_data()
    {
        QTest::addColumn<QString>("sample");
        QTest::newRow("sub-groups") << u"zero3-w4"_s;
        QTest::newRow("groups") << u"zero2-w2"_s;
        QTest::newRow("stages") << u"pipeline-w4"_s;
    }

    void mapsSayWhichGroupsDecay()
    {
        QFETCH(QString, sample);
        WindowFixture ui;
        QVERIFY(ui.open(samplePath(sample.toLatin1().constData())));
        const Reshard dialog(ui, 8);
        QVERIFY(dialog.settle());
        for (const char* side : {"Before", "After"}) {
            const MapStackPtr& stack = dialog.map(side)->canvas()->stack();
            QStringList names;
            for (uint32_t i = 0; i < stack->count(); ++i)
                names.append(MapText::sectionName(stack->source(i)));
            const QString all = names.join(u'\n');
            QVERIFY2(all.contains(u"with decay"_s) && all.contains(u"without decay"_s),
                qPrintable(QString::fromLatin1(side) % u": "_s % all));
        }
    }

    void theFieldSaysWhichSizeIsPlanned()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero3-universal-w3/global_step3_universal"))); // of a run with 150
        const Reshard dialog(ui, 2);
        auto* size = dialog.find<QLineEdit>("reshardSubGroup");
        QVERIFY(!size->placeholderText().contains(u"000"_s)); // not known before there is a plan
        QVERIFY(dialog.settle());
        QVERIFY(dialog->preview().plan->reshard->subGroupSize == uint64_t{150});
        QCOMPARE(size->placeholderText(), u"as recorded: 150"_s);
        size->setText(u"1000"_s);
        QVERIFY(dialog.settle());
        QVERIFY(dialog->preview().plan->reshard->subGroupSize == uint64_t{1000});
        QCOMPARE(size->placeholderText(), u"as recorded: 150"_s); // what an empty field stands for
    }

    void theFieldSaysThatTheDefaultIsPlanned()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("stage0-fp16")));
        const Reshard dialog(ui, 2);
        auto* kind = dialog.find<QComboBox>("reshardKind");
        kind->setCurrentIndex(kind->findData(3));
        QVERIFY(dialog.settle());
        QVERIFY(dialog->preview().plan->reshard->subGroupSize == kDefaultSubGroupSize);
        QCOMPARE(dialog.find<QLineEdit>("reshardSubGroup")->placeholderText(), u"default: 1,000,000,000"_s);
    }
};

SHARDSCOPE_UI_TEST(TestReshardSubGroups, WithDisplay)
#include "tst_reshard_sub_groups.moc"
