// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/open/open.h"
#include "tests/support/places.h"
#include "tests/support/synthetic_checkpoint.h"
#include "tests/ui/ui_tests.h"
#include "ui/layoutmap/geometry/map_navigation.h"
#include "ui/layoutmap/layout_map_view.h"
#include "ui/models/selection.h"
#include "ui/style/theme.h"

#include <QDir>
#include <QSet>
#include <QTest>

// Options that a test leaves out keep their defaults.
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

using namespace shardscope;
using namespace shardscope::ui;

/// Pictures of the map at three zooms, light and dark, for people to look at; checked for not being blank.
class TestMapPictures : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void initTestCase();
    void pictures_data();
    void pictures();
};

namespace {

CheckpointPtr manyRanks()
{
    auto checkpoint = test::buildSyntheticCheckpoint({.stage = 3,
        .ranks = 512,
        .params = 323,
        .hidden = 512,
        .aliases = 1,
        .missingRanks = {300},
        .notYetReadRanks = {96, 97}});
    checkpoint.findings.push_back(
        {"test-finding", Severity::Error, "bad", "model.layers.12.mlp.up_proj.weight", {}});
    return std::make_shared<const Checkpoint>(std::move(checkpoint));
}

CheckpointPtr fewRanks()
{
    auto checkpoint = test::buildSyntheticCheckpoint({.stage = 3,
        .ranks = 12,
        .params = 43,
        .hidden = 60,
        .experts = 2,
        .aliases = 1,
        .missingRanks = {5},
        .notYetReadRanks = {9}});
    checkpoint.findings.push_back(
        {"test-finding", Severity::Error, "bad", checkpoint.file(checkpoint.optimFiles[7]).name, {}});
    checkpoint.findings.push_back(
        {"test-finding", Severity::Warning, "odd", "model.layers.1.mlp.up_proj.weight", {}});
    return std::make_shared<const Checkpoint>(std::move(checkpoint));
}

CheckpointPtr ribbon()
{
    return test::makeSyntheticCheckpoint({.stage = 2, .ranks = 16, .params = 83, .hidden = 128});
}

CheckpointPtr sample()
{
    JobContext job;
    const std::string path = sourceFolder() + "/tests/data/samples/zero3-w4";
    auto opened = openCheckpoint(io::realFileSystem(), path, {}, job);
    return opened ? opened->checkpoint : nullptr;
}

} // namespace

void TestMapPictures::initTestCase()
{
    QFont font(QStringLiteral("DejaVu Sans"));
    font.setPointSizeF(9.5);
    QApplication::setFont(font);
}

void TestMapPictures::pictures_data()
{
    QTest::addColumn<int>("which");
    QTest::addColumn<int>("zoom");
    QTest::addColumn<bool>("unrolled");
    QTest::addColumn<bool>("dark");
    for (const bool dark : {false, true}) {
        const char* theme = dark ? "dark" : "light";
        for (int zoom = 0; zoom < 3; ++zoom) {
            QTest::addRow("many-ranks-zoom%d-%s", zoom, theme) << 0 << zoom << false << dark;
            QTest::addRow("few-ranks-zoom%d-%s", zoom, theme) << 1 << zoom << false << dark;
            QTest::addRow("ribbon-zoom%d-%s", zoom, theme) << 2 << zoom << false << dark;
            QTest::addRow("sample-zoom%d-%s", zoom, theme) << 3 << zoom << false << dark;
        }
        QTest::addRow("unrolled-%s", theme) << 2 << 0 << true << dark;
    }
}

void TestMapPictures::pictures()
{
    QFETCH(int, which);
    QFETCH(int, zoom);
    QFETCH(bool, unrolled);
    QFETCH(bool, dark);
    Theme theme;
    theme.setMode(dark ? ThemeMode::Dark : ThemeMode::Light);
    Selection selection;
    LayoutMapView view(&theme);
    view.setSelection(&selection);
    view.resize(1280, 640);
    view.show();
    const auto checkpoint = which == 0 ? manyRanks()
        : which == 1                   ? fewRanks()
        : which == 2                   ? ribbon()
                                       : sample();
    QVERIFY(checkpoint);
    view.setCheckpoint(checkpoint);
    if (unrolled) {
        view.setProjection(MapQuery::Projection::Unrolled);
    }
    QVERIFY(QTest::qWaitForWindowExposed(&view));
    const auto& source = *view.canvas()->source();
    const auto& params = source.unit().params;
    auto* viewport = view.viewport();
    if (zoom == 1) {
        const auto param = params[params.size() / 2];
        selection.selectParam(param);
        viewport->zoomTo(cellBlock(source, *firstFragment(source, param)));
        viewport->zoomColumns(-80, viewport->size().width() / 2);
        viewport->zoomRows(4, 0);
    } else if (zoom == 2) {
        const auto point = *firstFragment(source, params[params.size() / 3]);
        viewport->zoomTo({{point.row, point.row + uint64_t{1}}, {point.element, point.element + 24}});
        viewport->zoomRows(30 - viewport->geometry().rowScale().level() - 12, 0);
        viewport->setSelected({{point.row, point.row + uint64_t{2}}, {point.element + 2, point.element + 7}});
    }
    QImage picture;
    const auto settled = [&] {
        picture = view.grab().toImage();
        return !view.canvas()->isDrawing();
    };
    QTRY_VERIFY(settled());
    // Values arrive from their files, and what arrived is painted.
    QTRY_VERIFY(!view.canvas()->isReadingValues());
    picture = view.grab().toImage();
    QSet<QRgb> colours;
    for (int x = 0; x < picture.width(); x += 3) {
        for (int y = 0; y < picture.height(); y += 3) {
            colours.insert(picture.pixel(x, y));
        }
    }
    QVERIFY(colours.size() > 8);
    QDir().mkpath(QStringLiteral("pictures"));
    QVERIFY(picture.save(QStringLiteral("pictures/map-%1.png").arg(QLatin1String(QTest::currentDataTag()))));
}

SHARDSCOPE_UI_TEST(TestMapPictures, WithDisplay)
#include "tst_map_pictures.moc"
