// SPDX-License-Identifier: Apache-2.0
// Descriptions of places on maps in compare colours.
#include "core/layout/fragments.h"
#include "tests/ui/pages/compare_fixture.h"
#include "tests/ui/ui_tests.h"
#include "tests/ui/window_fixture.h"
#include "ui/layoutmap/geometry/map_navigation.h"
#include "ui/layoutmap/geometry/map_text.h"
#include "ui/layoutmap/layout_map_view.h"
#include "ui/models/model_roles.h"
#include "ui/models/parameters/difference_table_model.h"
#include "ui/pages/compare_maps.h"
#include "ui/pages/compare_page.h"
#include "ui/pages/map_page.h"
#include "ui/pages/verdict_panel.h"
#include "ui/shell/page_window.h"
#include "ui/widgets/elided_label.h"

#include <QAbstractItemModelTester>
#include <QAction>
#include <QComboBox>
#include <QDropEvent>
#include <QFile>
#include <QHeaderView>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QMimeData>
#include <QProgressBar>
#include <QPushButton>
#include <QTableView>
#include <QTest>
#include <QToolButton>
#include <QUrl>

using namespace Qt::StringLiterals;
using namespace shardscope;
using namespace shardscope::ui;

namespace {

/// Flips the last bit of a parameter's first fp32 master, or another state, in a copy of that checkpoint's
/// run folder.
bool flipLastBit(
    const Checkpoint& checkpoint, const QString& copy, const char* name, const char* state = "fp32")
{
    const auto pieces = fragmentsOf(checkpoint, *checkpoint.findParam(name), state, 0, 1);
    if (!pieces || pieces->size() != 1)
        return false;
    const io::Path& path = checkpoint.file(pieces->front().file).path;
    QFile file(copy % u'/' % QString::fromStdString(path.lexically_relative(checkpoint.runFolder).native()));
    const auto at = static_cast<qint64>(pieces->front().byteOffset);
    char byte = 0;
    if (!file.open(QIODevice::ReadWrite) || !file.seek(at) || file.read(&byte, 1) != 1)
        return false;
    byte ^= 1;
    return file.seek(at) && file.write(&byte, 1) == 1;
}

/// A pixel of the marked parameter in the row of a place. Not (0, 0), which Qt Test takes for the centre.
std::optional<QPoint> pixelOfMarked(const MapCanvas& canvas, MapSource::Point row)
{
    for (int y = 0; y < canvas.height(); ++y) {
        for (int x = 0; x < canvas.width(); ++x) {
            const auto at = canvas.pointAt(QPointF(x, y));
            if (at && at->row == row.row && at->section == row.section && (x > 0 || y > 0)
                && canvas.stack()->cellAt(*at).param == canvas.marks().param)
                return QPoint(x, y);
        }
    }
    return {};
}

} // namespace

class TestCompareMap : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void theMapNamesTheDifference_data()
    {
        QTest::addColumn<QString>("left");
        QTest::addColumn<QString>("right");
        QTest::addColumn<QString>("kind"); ///< of a row of the table
        QTest::addColumn<QString>("says");
        QTest::newRow("values") << u"zero2-w2"_s << u"zero2-w2/global_step3"_s << u"values"_s
                                << u"differs in %1 elements, by up to %2"_s;
        QTest::newRow("last bit") << u"zero2-w2"_s << QString() << u"last bit"_s
                                  << u"differs in the last bit of %1 elements, by up to %2"_s;
    }

    void theMapNamesTheDifference()
    {
        QFETCH(QString, left);
        QFETCH(QString, right);
        QFETCH(QString, kind);
        QFETCH(QString, says);
        WindowFixture ui;
        QVERIFY(ui.open(samplePath(left.toLatin1().constData())));
        QString other = samplePath(right.toLatin1().constData());
        if (right.isEmpty()) {
            other = copiedSample(left.toLatin1().constData(), ui.folder(u"copy"_s));
            QVERIFY(flipLastBit(*ui.checkpoint(), other, "layers.0.attention.wq.weight"));
        }
        QVERIFY(compareWith(ui, other));
        auto* table = ui.find<QTableView>("differenceTable");
        auto* maps = ui.find<CompareMaps>("compareMaps");
        int row = 0;
        while (row < table->model()->rowCount() && cell(table, row, DifferenceColumn::Kind) != kind)
            ++row;
        QVERIFY(row < table->model()->rowCount());
        const QString words = says.arg(
            cell(table, row, DifferenceColumn::Different), cell(table, row, DifferenceColumn::MaxAbs));
        auto* hover = ui.find<ElidedLabel>("statusHover");
        for (LayoutMapView* map : {maps->left(), maps->right()}) {
            table->setCurrentIndex({});
            table->setCurrentIndex(table->model()->index(row, 0)); // on both sides
            QVERIFY(ui.settle());
            MapCanvas* canvas = map->canvas();
            const auto pinned = canvas->marks().pinned;
            QVERIFY(pinned.has_value());
            QVERIFY2(canvas->accessibleDescription().startsWith(words, Qt::CaseInsensitive),
                qPrintable(canvas->accessibleDescription()));
            // Under the mouse.
            const auto over = pixelOfMarked(*canvas, *pinned);
            QVERIFY(over.has_value());
            QTest::mouseMove(canvas, *over);
            QTRY_VERIFY2(hover->text().startsWith(words, Qt::CaseInsensitive), qPrintable(hover->text()));
            const QString tip
                = MapText::tooltip(canvas->stack()->sourceAt(*pinned), *pinned, canvas->shownDifferences());
            QVERIFY2(tip.contains(words, Qt::CaseInsensitive), qPrintable(tip));
            QTest::mouseMove(canvas, QPoint(-40, -40));
            // At the keyboard's cursor, forward and back.
            canvas->setFocus(Qt::TabFocusReason);
            QTest::keyClick(canvas, Qt::Key_Right);
            QTest::keyClick(canvas, Qt::Key_Left);
            QVERIFY2(hover->text().startsWith(words, Qt::CaseInsensitive), qPrintable(hover->text()));
            // In other colours only the place is described.
            map->setColourMode(MapColourMode::Kind);
            QTest::keyClick(canvas, Qt::Key_Right);
            QVERIFY(!hover->text().isEmpty());
            QVERIFY2(!hover->text().contains(u"differs"_s), qPrintable(hover->text()));
            map->setColourMode(MapColourMode::Difference);
        }
    }

    void aDifferenceOfOneStateIsSeenInAll()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero2-w2")));
        const QString other = copiedSample("zero2-w2", ui.folder(u"copy"_s));
        const char* name = "layers.0.attention.wq.weight";
        QVERIFY(flipLastBit(*ui.checkpoint(), other, name, "exp_avg"));
        QVERIFY(compareWith(ui, other));
        auto* maps = ui.find<CompareMaps>("compareMaps");
        auto* states = ui.find<QComboBox>("compareMapState");
        QCOMPARE(states->currentText(), u"exp_avg"_s); // the one that differs
        const ParamId param = *ui.checkpoint()->findParam(name);
        for (LayoutMapView* map : {maps->left(), maps->right()}) {
            QCOMPARE(map->state(), "exp_avg");
            const DifferenceMarksPtr marks = map->canvas()->mapStyle().differences;
            QVERIFY((*marks->ofState("exp_avg"))[index(param)] == DifferenceMark::LastBit);
            QVERIFY((*marks->ofState("fp32"))[index(param)] == DifferenceMark::OtherState);
        }
        QTest::keyClick(states, Qt::Key_Home); // fp32
        QVERIFY(ui.settle());
        QCOMPARE(maps->left()->state(), "fp32");
        QCOMPARE(maps->right()->state(), "fp32");
        const auto stack = maps->left()->canvas()->stack();
        const MapSource& source = stack->source(*stack->sectionOf(param));
        const auto at = pointOfElement(source, param, 0);
        QVERIFY(at);
        const QString tip = MapText::tooltip(source, *at, maps->left()->canvas()->shownDifferences());
        QVERIFY2(tip.contains(u"equal, but differs in exp_avg"_s), qPrintable(tip));
    }

    void theMapNamesWhatIsEqualOrAlone()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero3-w4")));
        QVERIFY(compareWith(ui, samplePath("zero3-w4")));
        MapCanvas* canvas = ui.find<CompareMaps>("compareMaps")->left()->canvas();
        QVERIFY(MapText::sentence(*canvas->source(), {0, 0}, canvas->shownDifferences())
                    .startsWith(u"equal"_s, Qt::CaseInsensitive));
        QVERIFY(compareWith(ui, samplePath("slices-w4")));
        auto* maps = ui.find<CompareMaps>("compareMaps");
        for (LayoutMapView* map : {maps->left(), maps->right()}) {
            const QString words
                = MapText::sentence(*map->canvas()->source(), {0, 0}, map->canvas()->shownDifferences());
            QVERIFY2(
                words.startsWith(map == maps->left() ? u"only left"_s : u"only right"_s, Qt::CaseInsensitive),
                qPrintable(words));
        }
    }

    /// Rows of files have no differences, also while the colours are those of differences.
    void filesAreDescribedWhileDifferencesAreShown()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero2-w2")));
        QVERIFY(compareWith(ui, samplePath("zero2-w2")));
        LayoutMapView* map = ui.find<CompareMaps>("compareMaps")->left();
        map->setFilesShown(true);
        QVERIFY(ui.settle());
        const MapCanvas* canvas = map->canvas();
        QVERIFY(canvas->stack()->files() != nullptr);
        QVERIFY(canvas->shownDifferences() != nullptr);
        const MapSource& source = *canvas->source();
        for (uint32_t row = 0; row < source.rows(); ++row) {
            for (uint64_t byte = 0; byte < source.columns(); byte = source.cellAt(row, byte).end) {
                const QString words = MapText::sentence(source, {row, byte}, canvas->shownDifferences());
                QVERIFY2(words.contains(u" · "_s) && !words.contains(u"differs"_s), qPrintable(words));
            }
        }
    }
};

SHARDSCOPE_UI_TEST(TestCompareMap, WithDisplay)
#include "tst_compare_map.moc"
