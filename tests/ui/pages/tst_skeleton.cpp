// SPDX-License-Identifier: Apache-2.0
// A checkpoint without values in the window: it opens from its zip file, and says that there are none.
#include "core/checkpoint/folder/skeleton.h"
#include "core/engine/skeleton/skeleton.h"
#include "tests/ui/ui_tests.h"
#include "tests/ui/window_fixture.h"

#include <QLabel>
#include <QTest>

using namespace Qt::StringLiterals;
using namespace shardscope;
using namespace shardscope::ui;

class TestSkeleton : public QObject
{
    Q_OBJECT

private Q_SLOTS:
    void opensFromItsZipFile();
    void saysThatThereAreNoValues();
    void itsHealthCannotBeJudged();
};

namespace {

QString skeletonOf(const WindowFixture& ui, const char* sample)
{
    const io::Path source = samplePath(sample).toStdString();
    JobContext job;
    const auto opened = openCheckpoint(io::realFileSystem(), source, {}, job);
    SkeletonRequest request;
    request.asked = source;
    request.out = ui.folder(u"s.zip"_s).toStdString();
    request.checkJson = "{}";
    if (!opened || !writeSkeleton(io::realFileSystem(), *opened->checkpoint, request, job))
        return {};
    return ui.folder(u"s.zip"_s);
}

} // namespace

void TestSkeleton::opensFromItsZipFile()
{
    WindowFixture ui;
    QVERIFY(ui.open(skeletonOf(ui, "zero3-w4")));
    QVERIFY(ui.checkpoint());
    QVERIFY(isSkeleton(*ui.checkpoint()));
    const auto params = ui.checkpoint()->params.size();
    QVERIFY(params > 0);
    for (const QString& page : {u"map"_s, u"files"_s, u"findings"_s, u"overview"_s}) {
        ui.window().showPage(page);
        QVERIFY(ui.settle());
    }
    QVERIFY(ui.open(samplePath("zero3-w4")));
    QVERIFY(!isSkeleton(*ui.checkpoint()));
    QCOMPARE(ui.checkpoint()->params.size(), params);
}

void TestSkeleton::saysThatThereAreNoValues()
{
    WindowFixture ui;
    QVERIFY(ui.open(skeletonOf(ui, "zero2-w2")));
    QVERIFY(ui.window().showPage(u"tensor"_s));
    SelectedThing thing;
    thing.param = *ui.checkpoint()->findParam("layers.0.attention.wo.weight");
    thing.state = "fp32";
    ui.window().selection().select(thing);
    QVERIFY(ui.settle());
    const auto* health = ui.find<QLabel>("tensorHealth");
    QVERIFY(health && !health->isHidden());
    QVERIFY(health->text().contains(u"skeleton"_s));
}

void TestSkeleton::itsHealthCannotBeJudged()
{
    WindowFixture ui;
    QVERIFY(ui.open(skeletonOf(ui, "zero2-w2")));
    ui.window().showPage(PageId::Health);
    QVERIFY(ui.settle());
    const QString summary = ui.find<QLabel>("healthSummary")->text();
    QVERIFY2(summary.startsWith(u"Cannot be judged: weights and moments: no values can be read."_s)
            && !summary.contains(u"wrong"_s),
        qPrintable(summary));
}

SHARDSCOPE_UI_TEST(TestSkeleton, WithDisplay)
#include "tst_skeleton.moc"
