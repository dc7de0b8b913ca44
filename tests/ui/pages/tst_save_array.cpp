// SPDX-License-Identifier: Apache-2.0
// Saving a tensor, or a slice of it, as a NumPy file.
#include "core/layout/fragments.h"
#include "core/torchfile/formats/npy_format.h"
#include "tests/ui/pages/tensor_fixture.h"
#include "tests/ui/ui_tests.h"
#include "tests/ui/window_fixture.h"
#include "ui/pages/tensor_page.h"
#include "ui/tensorview/array_saver.h"
#include "ui/tensorview/tensor_grid.h"
#include "ui/widgets/message_bar.h"

#include <QAction>
#include <QComboBox>
#include <QDir>
#include <QFileDialog>
#include <QMenu>
#include <QPushButton>
#include <QSignalSpy>
#include <QSpinBox>
#include <QTest>
#include <QToolButton>

#include <cstring>

using namespace Qt::StringLiterals;
using namespace shardscope;
using namespace shardscope::ui;

namespace {

struct Array {
    std::string type;
    Shape shape;
    QByteArray values;
};

std::optional<Array> readArray(const QString& path)
{
    QFile file(path);
    if (!file.open(QIODevice::ReadOnly))
        return {};
    const QByteArray all = file.readAll();
    const auto header
        = parseNpyHeader({all.constData(), static_cast<size_t>(all.size())}, path.toStdString());
    if (!header)
        return {};
    return Array{header->type, header->shape, all.mid(static_cast<qsizetype>(header->dataOffset))};
}

QByteArray elementsOf(const TensorSource& source)
{
    QByteArray out(static_cast<qsizetype>(source.bytes()), '\0');
    const std::span<uint8_t> into(reinterpret_cast<uint8_t*>(out.data()), static_cast<size_t>(out.size()));
    if (!readElements(
            io::realFileSystem(), *source.checkpoint, {source.param, source.state, 0, source.elements}, into))
        return {};
    return out;
}

/// A tensor of three dimensions with the values 0, 1, 2, …
CheckpointPtr cube(WindowFixture& ui, const Shape& shape)
{
    const QString path = ui.folder(u"cube.bin"_s);
    QFile file(path);
    const uint64_t elements = *elementCount(shape);
    if (!file.open(QIODevice::WriteOnly))
        return nullptr;
    std::vector<float> values(elements);
    for (size_t i = 0; i < values.size(); ++i)
        values[i] = static_cast<float>(i);
    file.write(reinterpret_cast<const char*>(values.data()), static_cast<qint64>(values.size() * 4));
    auto checkpoint = std::make_shared<Checkpoint>(*hugeCheckpoint(ui.folder(u"unused"_s)));
    checkpoint->files[0].path = path.toStdString();
    checkpoint->params[0].shape = shape;
    checkpoint->params[0].elements = elements;
    checkpoint->whole[0].run.elements = elements;
    return checkpoint;
}

} // namespace

class TestSaveArray : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void savesWholeTensors_data()
    {
        QTest::addColumn<QString>("sample");
        QTest::addColumn<QString>("param");
        QTest::addColumn<QString>("state");
        QTest::addColumn<QString>("type");
        QTest::newRow("float32 on ranks")
            << u"zero3-w4"_s << u"layers.0.attention.wq.weight"_s << u"fp32"_s << u"<f4"_s;
        QTest::newRow("column by column")
            << u"zenflow-w2"_s << u"layers.0.mlp.down.weight"_s << u"fp32"_s << u"<f4"_s;
        QTest::newRow("bfloat16") << u"zero2-w2"_s << u"layers.0.mlp.down.weight"_s << u"weight"_s
                                  << u"<f4"_s;
        QTest::newRow("float16") << u"stage0-fp16"_s << u"layers.0.mlp.up.weight"_s << u"weight"_s
                                 << u"<f2"_s;
        QTest::newRow("int64") << u"zero2-w2"_s << u"batches_seen"_s << u"weight"_s << u"<i8"_s;
        QTest::newRow("bool") << u"zero2-w2"_s << u"layers.0.attention.mask"_s << u"weight"_s << u"|b1"_s;
    }

    void savesWholeTensors()
    {
        QFETCH(QString, sample);
        QFETCH(QString, param);
        QFETCH(QString, state);
        QFETCH(QString, type);
        WindowFixture ui;
        QVERIFY(ui.open(samplePath(sample.toLatin1().constData())));
        QVERIFY(showTensor(ui, param.toLatin1().constData(), state.toLatin1().constData()));
        // By the action, as a person does it.
        ui.window().findChild<QAction*>(u"actionSaveArray"_s)->trigger();
        auto* ask = ui.window().findChild<QFileDialog*>(u"saveArrayDialog"_s);
        QVERIFY(ask != nullptr);
        const QString path = ui.folder(u"array.npy"_s);
        Q_EMIT ask->fileSelected(path);
        delete ask;
        QVERIFY(ui.settle());
        QVERIFY2(ui.find<MessageBar>("windowMessages")->text().contains(u"Saved the array"_s),
            qPrintable(ui.find<MessageBar>("windowMessages")->text()));
        const auto array = readArray(path);
        QVERIFY(array);
        const TensorSource& source = *ui.find<TensorPage>("tensorPage")->source();
        QCOMPARE(QString::fromStdString(array->type), type);
        QCOMPARE(array->shape, source.shape);
        const QByteArray expected = elementsOf(source);
        QVERIFY(!expected.isEmpty());
        if (source.dtype != DType::BFloat16) {
            QCOMPARE(array->values, expected);
            return;
        }
        for (uint64_t i = 0; i < source.elements; ++i) { // exactly
            float value = 0;
            std::memcpy(&value, array->values.constData() + 4 * i, 4);
            QCOMPARE(static_cast<double>(value),
                elementAsDouble(
                    source.dtype, reinterpret_cast<const uint8_t*>(expected.constData()) + 2 * i));
        }
    }

    void savesTheShownSlice()
    {
        WindowFixture ui;
        const Shape shape{3, 5, 7};
        OwnTensorPage own(ui);
        TensorPage& page = own.page;
        own.show(cube(ui, shape));
        own.session.selection().selectParam(ParamId{0});
        QTRY_VERIFY(!page.isBusy());
        auto* save = page.findChild<QToolButton*>(u"saveArray"_s);
        QVERIFY(save->menu() != nullptr && save->menu()->actions().size() == 2);
        int written = 0;
        for (const size_t rows : {0U, 1U, 2U}) {
            for (const size_t columns : {0U, 1U, 2U}) {
                if (rows == columns)
                    continue;
                const size_t fixed = 3 - rows - columns;
                page.findChild<QComboBox*>(u"sliceRows"_s)->setCurrentIndex(static_cast<int>(rows));
                page.findChild<QComboBox*>(u"sliceColumns"_s)->setCurrentIndex(static_cast<int>(columns));
                page.findChild<QSpinBox*>(u"sliceFixed%1"_s.arg(fixed))->setValue(1);
                save->menu()->actions()[1]->trigger();
                auto* ask = page.findChild<QFileDialog*>(u"saveArrayDialog"_s);
                QVERIFY(ask != nullptr);
                const QString path = ui.folder(u"slice%1.npy"_s.arg(written++));
                Q_EMIT ask->fileSelected(path);
                delete ask;
                QTRY_VERIFY(!page.isBusy());
                const auto array = readArray(path);
                QVERIFY(array);
                QCOMPARE(array->shape, (Shape{shape[rows], shape[columns]}));
                std::vector<uint64_t> at(3, 1);
                for (at[rows] = 0; at[rows] < shape[rows]; ++at[rows]) {
                    for (at[columns] = 0; at[columns] < shape[columns]; ++at[columns]) {
                        float value = 0;
                        std::memcpy(&value,
                            array->values.constData() + 4 * (at[rows] * shape[columns] + at[columns]), 4);
                        QCOMPARE(value, static_cast<float>((at[0] * 5 + at[1]) * 7 + at[2]));
                    }
                }
            }
        }
        QCOMPARE(written, 6);
    }

    void isCancelledAndLeavesNothing()
    {
        WindowFixture ui;
        OwnTensorPage own(ui);
        TensorPage& page = own.page;
        own.show(hugeCheckpoint(ui.folder(u"huge.bin"_s))); // 4 GiB
        own.session.selection().selectParam(ParamId{0});
        QTRY_VERIFY_WITH_TIMEOUT(!page.isBusy(), 60'000);
        QSignalSpy told(&page, &Page::told);
        QVERIFY(QDir().mkpath(ui.folder(u"out"_s)));
        page.saveArray({page.source(), {}}, ui.folder(u"out/huge.npy"_s));
        auto* saver = page.findChild<ArraySaver*>(u"arraySaver"_s);
        QVERIFY(saver->isVisible());
        page.findChild<QPushButton*>(u"arraySaverCancel"_s)->click();
        QTRY_VERIFY_WITH_TIMEOUT(!saver->isRunning(), 20'000);
        QVERIFY(!saver->isVisible());
        QCOMPARE(told.size(), 1);
        QVERIFY(told[0][1].toString().contains(u"cancelled"_s));
        QVERIFY(QDir(ui.folder(u"out"_s)).entryList(QDir::Files | QDir::Hidden).isEmpty());
    }

    void whatIsMissingIsRefused()
    {
        WindowFixture ui;
        const QString copy = copiedSample("zero2-w2", ui.folder(u"broken"_s));
        QVERIFY(QFile::remove(copy + u"/global_step6/bf16_zero_pp_rank_1_mp_rank_00_optim_states.pt"_s));
        QVERIFY(ui.open(copy));
        auto* page = ui.find<TensorPage>("tensorPage");
        for (uint32_t i = 0; i < ui.checkpoint()->params.size(); ++i) {
            if (ui.checkpoint()->params[i].unit == kNoUnit)
                continue;
            QVERIFY(showTensor(ui, ui.checkpoint()->params[i].name.c_str(), "fp32"));
            const QString path = ui.folder(u"missing%1.npy"_s.arg(i));
            page->saveArray({page->source(), {}}, path);
            QVERIFY(ui.settle());
            const QString said = ui.find<MessageBar>("windowMessages")->text();
            const bool isWhole = !elementsOf(*page->source()).isEmpty();
            QCOMPARE(QFile::exists(path), isWhole);
            QVERIFY2(isWhole || said.contains(u"cannot be saved"_s), qPrintable(said));
        }
        // A file of the checkpoint is not written over.
        const QString inside = copy + u"/array.npy"_s;
        page->saveArray({page->source(), {}}, inside);
        QVERIFY(ui.settle());
        QVERIFY(!QFile::exists(inside));
    }
};

SHARDSCOPE_UI_TEST(TestSaveArray, WithDisplay)
#include "tst_save_array.moc"
