// SPDX-License-Identifier: Apache-2.0
// Where the elements of a tensor are: ranks in grid and heat map, bytes and files in the hex view, storage,
// ties, and copies on other ranks.
#include "core/layout/fragments.h"
#include "tests/ui/pages/tensor_fixture.h"
#include "tests/ui/ui_tests.h"
#include "tests/ui/window_fixture.h"
#include "ui/pages/tensor_page.h"
#include "ui/tensorview/heat_map.h"
#include "ui/tensorview/hex_view.h"
#include "ui/tensorview/tensor_findings.h"
#include "ui/tensorview/tensor_grid.h"
#include "ui/widgets/elided_label.h"

#include <QFile>
#include <QGuiApplication>
#include <QLabel>
#include <QMouseEvent>
#include <QTabWidget>
#include <QTest>

using namespace Qt::StringLiterals;
using namespace shardscope;
using namespace shardscope::ui;

namespace {

QByteArray bytesAt(const QString& path, qint64 offset, qint64 count)
{
    QFile file(path);
    return file.open(QIODevice::ReadOnly) && file.seek(offset) ? file.read(count) : QByteArray();
}

/// Overwrites one element of a copied sample.
bool overwrite(const Checkpoint& checkpoint, ParamId param, const char* state, uint64_t element, float value)
{
    const auto pieces = fragmentsOf(checkpoint, param, state, element, element + 1);
    if (!pieces || pieces->size() != 1)
        return false;
    QFile file(QString::fromStdString(checkpoint.file(pieces->front().file).path.native()));
    return file.open(QIODevice::ReadWrite) && file.seek(static_cast<qint64>(pieces->front().byteOffset))
        && file.write(reinterpret_cast<const char*>(&value), sizeof value) == sizeof value;
}

/// A matrix with masters on two ranks or more.
ParamId dividedMatrix(const Checkpoint& checkpoint)
{
    for (uint32_t i = 0; i < checkpoint.params.size(); ++i) {
        const auto pieces = checkpoint.params[i].shape.size() == 2 && checkpoint.params[i].unit != kNoUnit
            ? storedFragmentsOf(checkpoint, ParamId{i}, "fp32")
            : Result<std::vector<Fragment>>(std::vector<Fragment>());
        if (pieces && pieces->size() > 1 && pieces->front().rank != pieces->back().rank)
            return ParamId{i};
    }
    return kNoParam;
}

} // namespace

class TestTensorPlaces : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void ranksHaveBorders_data()
    {
        QTest::addColumn<QString>("sample");
        for (const char* name : {"zero3-w4", "zero2-w2", "zero1-w2", "ds0192-zenflow-w2"})
            QTest::newRow(name) << QString::fromLatin1(name);
    }

    /// A border is exactly where the fragments of the layout say that another rank begins.
    void ranksHaveBorders()
    {
        QFETCH(QString, sample);
        WindowFixture ui;
        QVERIFY(ui.open(samplePath(sample.toLatin1().constData())));
        const Checkpoint& checkpoint = *ui.checkpoint();
        const ParamId id = dividedMatrix(checkpoint);
        QVERIFY(id != kNoParam);
        QVERIFY(showTensor(ui, checkpoint.params[index(id)].name.c_str(), "fp32"));
        auto* grid = ui.find<TensorGrid>("tensorGrid");
        const auto rankOf = [&](uint64_t element) {
            return fragmentsOf(checkpoint, id, "fp32", element, element + 1)->front().rank;
        };
        const TensorSlice& slice = grid->slice();
        int borders = 0;
        for (uint64_t row = 0; row < slice.rows(); ++row) {
            for (uint64_t column = 0; column < slice.columns(); ++column) {
                const RankCoordinate here = rankOf(*slice.elementAt({row, column}));
                const bool left = column > 0 && rankOf(*slice.elementAt({row, column - 1})) != here;
                const bool above = row > 0 && rankOf(*slice.elementAt({row - 1, column})) != here;
                QCOMPARE(grid->hasBorderLeft({row, column}), left);
                QCOMPARE(grid->hasBorderAbove({row, column}), above);
                borders += left || above ? 1 : 0;
                if (left || above)
                    QVERIFY(grid->placeText({row, column}).contains(u"dp %1 holds elements"_s.arg(here.dp)));
            }
        }
        const std::vector<QLine>& lines = ui.find<HeatMap>("heatMap")->samples().borders;
        int length = 0;
        for (const QLine& line : lines)
            length += std::abs(line.dx()) + std::abs(line.dy());
        int edges = 0;
        for (uint64_t row = 0; row < slice.rows(); ++row)
            for (uint64_t column = 0; column < slice.columns(); ++column)
                edges += (grid->hasBorderLeft({row, column}) ? 1 : 0)
                    + (grid->hasBorderAbove({row, column}) ? 1 : 0);
        QCOMPARE(length, edges); // every element is a cell of this picture
        QVERIFY(borders > 0);
    }

    void hoveringTheHeatMapNamesTheRank()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero3-w4")));
        QVERIFY(showTensor(ui, "layers.0.attention.wq.weight", "fp32")); // (32, 32) on 4 ranks
        auto* heat = ui.find<HeatMap>("heatMap");
        const QPointF there = QPointF(heat->cellRect(9, 3).center());
        QMouseEvent move(
            QEvent::MouseMove, there, heat->mapToGlobal(there), Qt::NoButton, Qt::NoButton, Qt::NoModifier);
        QApplication::sendEvent(heat, &move);
        const QString text = ui.find<ElidedLabel>("statusHover")->text();
        QVERIFY2(text.startsWith(u"[9, 3] = "_s) && text.contains(u"dp 1 holds elements 256 to 511"_s),
            qPrintable(text));
    }

    void bytesAreThoseOfTheFile_data()
    {
        QTest::addColumn<QString>("sample");
        QTest::addColumn<QString>("param");
        QTest::addColumn<QString>("state");
        QTest::newRow("float32") << u"zero3-w4"_s << u"layers.0.attention.wq.weight"_s << u"fp32"_s;
        QTest::newRow("bfloat16") << u"zero2-w2"_s << u"norm.weight"_s << u"weight"_s;
        QTest::newRow("float16") << u"stage0-fp16"_s << u"layers.0.mlp.up.weight"_s << u"weight"_s;
        QTest::newRow("int64") << u"zero2-w2"_s << u"batches_seen"_s << u"weight"_s;
        QTest::newRow("bool") << u"zero2-w2"_s << u"layers.0.attention.mask"_s << u"weight"_s;
    }

    void bytesAreThoseOfTheFile()
    {
        QFETCH(QString, sample);
        QFETCH(QString, param);
        QFETCH(QString, state);
        WindowFixture ui;
        QVERIFY(ui.open(samplePath(sample.toLatin1().constData())));
        QVERIFY(showTensor(ui, param.toLatin1().constData(), state.toLatin1().constData()));
        auto* page = ui.find<TensorPage>("tensorPage");
        auto* hex = ui.find<HexView>("tensorHex");
        ui.find<QTabWidget>("tensorViews")->setCurrentWidget(hex);
        QVERIFY(ui.settle());
        const TensorSource& source = *page->source();
        QCOMPARE(source.state, state.toStdString());
        const uint64_t perLine = std::max<uint64_t>(16 / source.itemBytes(), 1);
        for (uint64_t line = 0; line * perLine < source.elements; ++line) {
            QTRY_VERIFY(!hex->lineText(line).contains(u'…'));
            const auto pieces = fragmentsOf(
                *ui.checkpoint(), source.param, source.state, line * perLine, line * perLine + 1);
            QVERIFY(pieces && pieces->size() == 1);
            bool ok = false;
            const qlonglong offset = hex->fileOffsetText(line).toLongLong(&ok, 16);
            QVERIFY2(ok, qPrintable(hex->fileOffsetText(line)));
            const QByteArray stored
                = bytesAt(QString::fromStdString(ui.checkpoint()->file(pieces->front().file).path.native()),
                    offset, source.itemBytes());
            QString expected;
            QString ascii;
            for (const char byte : stored) {
                expected += u"%1 "_s.arg(static_cast<uint8_t>(byte), 2, 16, QLatin1Char('0'));
                ascii += byte >= 0x20 && byte < 0x7F ? QChar::fromLatin1(byte) : QChar(u'·');
            }
            QVERIFY2(hex->lineText(line).startsWith(expected.trimmed()), qPrintable(hex->lineText(line)));
            QVERIFY2(hex->asciiText(line).startsWith(ascii), qPrintable(hex->asciiText(line)));
        }
        const uint64_t last = source.elements - 1;
        QVERIFY2(hex->placeText(last).contains(u", byte "_s), qPrintable(hex->placeText(last)));
    }

    void theHeadSaysHowItIsStored()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero3-w4")));
        auto* storage = ui.find<QLabel>("tensorStorage");
        QVERIFY(showTensor(ui, "layers.0.attention.wq.weight", "fp32"));
        QVERIFY2(storage->text().contains(u"strides (32, 1)"_s) && storage->text().contains(u"on 4 ranks"_s),
            qPrintable(storage->text()));
        const auto pieces = fragmentsOf(
            *ui.checkpoint(), *ui.checkpoint()->findParam("layers.0.attention.wq.weight"), "fp32", 0, 1);
        const CheckpointFile& file = ui.checkpoint()->file(pieces->front().file);
        const ZipRecord& record = file.content->zip().records()[pieces->front().record];
        QVERIFY2(storage->text().contains(u"in "_s % QString::fromStdString(file.path.filename().native())),
            qPrintable(storage->text()));
        QVERIFY2(storage->text().contains(u"storage data/"_s)
                && QString::fromStdString(record.name).contains(u"data/"_s),
            qPrintable(storage->text()));
        // Both names of a tied parameter name each other.
        QVERIFY(showTensor(ui, "tok_embeddings.weight", "fp32"));
        QVERIFY2(storage->text().contains(u"tied with lm_head.weight"_s), qPrintable(storage->text()));
        QVERIFY(showTensor(ui, "lm_head.weight", "fp32"));
        QVERIFY2(storage->text().contains(u"tied with tok_embeddings.weight"_s), qPrintable(storage->text()));
        QVERIFY(ui.open(samplePath("ds0192-zenflow-w2")));
        QVERIFY(showTensor(ui, "layers.0.mlp.down.weight", "fp32")); // (8, 24), column by column
        QVERIFY2(storage->text().contains(u"strides (1, 8)"_s), qPrintable(storage->text()));
        QVERIFY(ui.open(samplePath("zero2-w2")));
        QVERIFY(showTensor(ui, "layers.0.mlp.down.weight", "weight")); // (16, 48)
        QVERIFY2(storage->text().contains(u"strides (48, 1)"_s), qPrintable(storage->text()));
    }

    void copiesOnOtherRanksAreCompared()
    {
        WindowFixture ui;
        const QString path = copiedSample("slices-w4", ui.folder(u"run"_s));
        QVERIFY(ui.open(path));
        auto* copies = ui.find<QLabel>("tensorCopies");
        QVERIFY(showTensor(ui, "layers.0.norm.weight:tp1", "fp32"));
        QCOMPARE(copies->text(), u"Identical to tp 0: all 12 elements were compared."_s);
        QVERIFY(copies->isVisible());
        // Slices of a matrix are no copies of each other.
        QVERIFY(showTensor(ui, "layers.0.up_proj.weight:tp1", "fp32"));
        QVERIFY2(!copies->isVisible(), qPrintable(copies->text()));
        // One element differs: it is not said to be a copy.
        const ParamId other = *ui.checkpoint()->findParam("layers.0.norm.weight:tp0");
        QVERIFY(overwrite(*ui.checkpoint(), other, "fp32", 11, 17.0F));
        ui.window().session().reload();
        QVERIFY(ui.settle());
        QVERIFY(showTensor(ui, "layers.0.norm.weight:tp1", "fp32"));
        QVERIFY2(!copies->isVisible(), qPrintable(copies->text()));
        QVERIFY(showTensor(ui, "layers.0.norm.weight:tp1", "exp_avg"));
        QVERIFY2(copies->text().startsWith(u"Identical to tp 0"_s), qPrintable(copies->text()));
    }

    /// In right-to-left windows, too, a number has its minus at its left, and no field of a slice is cut off.
    void numbersAreReadFromTheLeft()
    {
        const auto pictureOf = [](Qt::LayoutDirection direction) {
            QGuiApplication::setLayoutDirection(direction);
            WindowFixture ui;
            QImage picture;
            if (ui.open(samplePath("zero2-w2"))
                && showTensor(ui, "layers.0.attention.wq.weight", "exp_avg")) {
                auto* grid = ui.find<TensorGrid>("tensorGrid");
                grid->setFixedSize(400, 300);
                if (QTest::qWaitFor([grid] { return grid->isComplete(); }, 20'000))
                    picture = grid->viewport()->grab(QRect(0, 0, 360, 200)).toImage();
            }
            QGuiApplication::setLayoutDirection(Qt::LeftToRight);
            return picture;
        };
        const QImage left = pictureOf(Qt::LeftToRight);
        QVERIFY(!left.isNull());
        QVERIFY(left == pictureOf(Qt::RightToLeft));
    }

    void theFieldsOfASliceAreNotCutOff()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("autoep-zero3-w4")));
        QVERIFY(showTensor(ui, "layers.0.mlp.experts.w1:ep0", "fp32")); // (2, 10, 12)
        for (const QSize size : {QSize(1440, 900), QSize(900, 700), QSize(1100, 640)}) {
            ui.window().resize(size);
            QVERIFY(ui.settle());
            auto* bar = ui.find<QWidget>("sliceBar");
            for (const char* name :
                {"sliceRows", "sliceColumns", "sliceFixed0", "numberForm", "numberDigits", "saveArray"}) {
                const auto* field = ui.find<QWidget>(name);
                QVERIFY2(field != nullptr && field->isVisible(), name);
                const QRect place(field->mapTo(bar, QPoint(0, 0)), field->size());
                QVERIFY2(bar->rect().contains(place), name);
                QVERIFY2(field->width() >= field->minimumSizeHint().width(), name);
            }
        }
    }

    void whatCannotBeReadIsNotSaidToBeCompared()
    {
        WindowFixture ui;
        const QString path = copiedSample("slices-w4", ui.folder(u"run"_s));
        QVERIFY(ui.open(path));
        const auto id = *ui.checkpoint()->findParam("layers.0.norm.weight:tp1");
        const auto pieces = fragmentsOf(*ui.checkpoint(), id, "fp32", 0, 12);
        QVERIFY(pieces);
        QVERIFY(
            QFile::remove(QString::fromStdString(ui.checkpoint()->file(pieces->front().file).path.native())));
        ui.window().session().reload();
        QVERIFY(ui.settle());
        QVERIFY(showTensor(ui, "layers.0.norm.weight:tp0", "fp32"));
        QVERIFY2(!ui.find<QLabel>("tensorCopies")->text().contains(u"all 12"_s),
            qPrintable(ui.find<QLabel>("tensorCopies")->text()));
    }
};

SHARDSCOPE_UI_TEST(TestTensorPlaces, WithDisplay)
#include "tst_tensor_places.moc"
