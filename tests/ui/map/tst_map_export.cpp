// SPDX-License-Identifier: Apache-2.0
#include "tests/support/synthetic_checkpoint.h"
#include "tests/ui/ui_tests.h"
#include "tests/ui/window_fixture.h"
#include "ui/layoutmap/layout_map_view.h"
#include "ui/layoutmap/map_picture.h"
#include "ui/pages/map_page.h"
#include "ui/widgets/message_bar.h"

#include <QClipboard>
#include <QFileDialog>
#include <QSvgRenderer>
#include <QTest>

// Options that a test leaves out keep their defaults.
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

using namespace Qt::StringLiterals;
using namespace shardscope;
using namespace shardscope::ui;

namespace {

CheckpointPtr variety()
{
    auto checkpoint = test::buildSyntheticCheckpoint({.stage = 3,
        .ranks = 6,
        .params = 24,
        .hidden = 30,
        .aliases = 1,
        .missingRanks = {2},
        .notYetReadRanks = {4}});
    checkpoint.findings.push_back(
        {"test-finding", Severity::Error, "bad", checkpoint.file(checkpoint.optimFiles[1]).name, {}});
    return std::make_shared<const Checkpoint>(std::move(checkpoint));
}

int pixelsOf(const QImage& image, const QColor& colour)
{
    int count = 0;
    for (int y = 0; y < image.height(); ++y)
        for (int x = 0; x < image.width(); ++x)
            count += image.pixel(x, y) == colour.rgb() ? 1 : 0;
    return count;
}

/// How many of all pixels are of clearly different colours.
double differingShare(const QImage& a, const QImage& b)
{
    if (a.size() != b.size())
        return 1;
    int differing = 0;
    for (int y = 0; y < a.height(); ++y)
        for (int x = 0; x < a.width(); ++x) {
            const QColor one = a.pixelColor(x, y);
            const QColor two = b.pixelColor(x, y);
            differing += std::abs(one.red() - two.red()) + std::abs(one.green() - two.green())
                    + std::abs(one.blue() - two.blue())
                > 150;
        }
    return static_cast<double>(differing) / (a.width() * a.height());
}

} // namespace

class TestMapExport : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void bothKindsShowTheMap_data()
    {
        QTest::addColumn<QString>("suffix");
        QTest::newRow("png") << u"png"_s;
        QTest::newRow("svg") << u"svg"_s;
    }

    void bothKindsShowTheMap()
    {
        QFETCH(QString, suffix);
        QTemporaryDir folder;
        Theme theme;
        theme.setMode(ThemeMode::Light);
        LayoutMapView map(&theme);
        map.resize(900, 600);
        map.setCheckpoint(variety());
        map.show();
        QVERIFY(QTest::qWaitForWindowExposed(&map));
        MapPicture picture = takeMapPicture(map, u"run/tag <of> & caption"_s);
        picture.facts = QStringList{u"Time: 2026-11-30T01:02:03Z"_s, u"Tag: <a> & b"_s};
        const QString path = folder.filePath(u"map."_s + suffix);
        QCOMPARE(saveMapPicture(picture, {path, {}}), QString());
        QDir().mkpath(QCoreApplication::applicationDirPath() + u"/screenshots"_s);
        QImage image(picture.size, QImage::Format_RGB32);
        if (suffix == u"svg"_s) {
            QSvgRenderer renderer(path);
            QVERIFY(renderer.isValid());
            QPainter painter(&image);
            renderer.render(&painter, QRectF(QPointF(), QSizeF(picture.size)));
            painter.end();
            QVERIFY(image.save(QCoreApplication::applicationDirPath() + u"/screenshots/map-saved-as-"_s
                + suffix + u".png"_s));
            QFile file(path);
            QVERIFY(file.open(QIODevice::ReadOnly));
            const QString text = QString::fromUtf8(file.readAll());
            QVERIFY(text.contains(u"embed_tokens"_s)); // names are text
            QVERIFY(!text.contains(u"<image"_s)); // and the map is shapes
            QVERIFY(text.contains(u"<desc>Time: 2026-11-30T01:02:03Z\nTag: &lt;a&gt; &amp; b</desc>"_s));
        } else {
            QVERIFY(image.load(path));
            QCOMPARE(image.size(), picture.size);
            QVERIFY(image.text(u"Title"_s).startsWith(u"run/tag <of> & caption"_s));
            QCOMPARE(image.text(u"Description"_s), u"Time: 2026-11-30T01:02:03Z\nTag: <a> & b"_s);
        }
        // Each class of parameters covers about as much as in the map itself.
        const QImage wanted = renderMap(picture.cells);
        for (const ParamClass kind : {ParamClass::Embedding, ParamClass::Attention, ParamClass::Mlp}) {
            const int there = pixelsOf(wanted, theme.classColour(kind));
            const int here = pixelsOf(image, theme.classColour(kind));
            QVERIFY(there > 1000);
            QVERIFY2(here > there * 8 / 10 && here < there * 12 / 10,
                qPrintable(u"%1 of %2"_s.arg(here).arg(there)));
        }
        QVERIFY(pixelsOf(image, theme.colour(ThemeRole::Error)) > 300);
    }

    void bothKindsAgree()
    {
        QTemporaryDir folder;
        Theme theme;
        theme.setMode(ThemeMode::Light);
        LayoutMapView map(&theme);
        map.resize(900, 600);
        map.setCheckpoint(
            test::makeSyntheticCheckpoint({.stage = 2, .ranks = 6, .params = 24, .hidden = 30}));
        map.show();
        QVERIFY(QTest::qWaitForWindowExposed(&map));
        const MapPicture picture = takeMapPicture(map, u"caption"_s);
        for (const QString& name : {u"map.svg"_s, u"map.png"_s})
            QCOMPARE(saveMapPicture(picture, {folder.filePath(name), {}}), QString());
        QImage image(picture.size, QImage::Format_RGB32);
        QSvgRenderer renderer(folder.filePath(u"map.svg"_s));
        QPainter painter(&image);
        renderer.render(&painter, QRectF(QPointF(), QSizeF(picture.size)));
        painter.end();
        // All shapes have the same place and size; edges are drawn a little differently.
        const double far = differingShare(image, QImage(folder.filePath(u"map.png"_s)));
        QVERIFY2(far < 0.01, qPrintable(QString::number(far)));
    }

    void tooManyShapesBecomePixels()
    {
        QTemporaryDir folder;
        Theme theme;
        theme.setMode(ThemeMode::Dark);
        LayoutMapView map(&theme);
        map.resize(900, 600);
        map.setCheckpoint(test::makeSyntheticCheckpoint({.stage = 3, .ranks = 512, .params = 300}));
        map.show();
        QVERIFY(QTest::qWaitForWindowExposed(&map));
        const QString path = folder.filePath(u"map.svg"_s);
        QCOMPARE(saveMapPicture(takeMapPicture(map, u"many"_s), {path, {}}), QString());
        QFile file(path);
        QVERIFY(file.open(QIODevice::ReadOnly));
        QVERIFY(file.readAll().contains("<image"));
        QVERIFY(QSvgRenderer(path).isValid());
        theme.setMode(ThemeMode::System);
    }

    void fromTheMenuToTheFile()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero3-w4")));
        QTest::keyClick(&ui.window(), Qt::Key_S, Qt::ControlModifier | Qt::ShiftModifier);
        auto* dialog = ui.find<QFileDialog>("savePictureDialog");
        QVERIFY(dialog != nullptr);
        QVERIFY(ui.find<QWidget>("mapPage")->isVisible());
        QVERIFY(dialog->selectedFiles().first().endsWith(u"global_step5-map.png"_s));
        dialog->close();
        auto* messages = ui.find<MessageBar>("windowMessages");
        const QString path = ui.folder(u"picture.svg"_s);
        ui.find<MapPage>("mapPage")->savePicture(path);
        QTRY_VERIFY(messages->isVisible());
        QVERIFY(messages->text().contains(path));
        QVERIFY(QFileInfo(path).size() > 1000);
        messages->hide();
        ui.find<MapPage>("mapPage")->savePicture(ui.folder(u"no/such/folder/picture.png"_s));
        QTRY_VERIFY(messages->isVisible());
        QVERIFY(messages->text().contains(u"could not be written"_s));
    }

    void aPictureIsCopied()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero3-w4")));
        QGuiApplication::clipboard()->clear();
        QTest::keyClick(&ui.window(), Qt::Key_M, Qt::ControlModifier | Qt::ShiftModifier);
        QVERIFY(ui.find<QWidget>("mapPage")->isVisible());
        QTRY_VERIFY(!QGuiApplication::clipboard()->image().isNull());
        const QImage image = QGuiApplication::clipboard()->image();
        QVERIFY(image.width() > 500 && image.height() > 300);
        QVERIFY(pixelsOf(image, ui.theme().classColour(ParamClass::Attention)) > 1000);
    }
};

SHARDSCOPE_UI_TEST(TestMapExport, WithDisplay)
#include "tst_map_export.moc"
