// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/open/open.h"
#include "tests/support/places.h"
#include "tests/support/swapped_checkpoint.h"
#include "tests/support/temporary_folder.h"
#include "tests/ui/ui_tests.h"
#include "ui/models/detail_facts.h"
#include "ui/models/record_list.h"

#include <QTest>

#include <filesystem>

using namespace shardscope;
using namespace shardscope::ui;
namespace fs = std::filesystem;

namespace {

/// The values of all facts with this prefix in their name.
QStringList factsNamed(const Details& details, const QString& name)
{
    QStringList out;
    for (const DetailSection& section : details.sections) {
        for (const DetailFact& fact : section.facts) {
            if (fact.name.startsWith(name))
                out << fact.value;
        }
    }
    return out;
}

} // namespace

/// A checkpoint of NVMe offload in the window's models.
class TestSwapped : public QObject
{
    Q_OBJECT

private Q_SLOTS:
    void initTestCase()
    {
        fs::copy(fs::path(sourceFolder()) / "tests/data/samples/zero3-w4", m_folder.path(),
            fs::copy_options::recursive);
        test::swapOut(m_folder / "global_step5", {.subgroups = {0}});
        JobContext job;
        const auto opened = openCheckpoint(io::realFileSystem(), m_folder.path(), {}, job);
        QVERIFY(opened.has_value());
        m_checkpoint = opened->checkpoint;
        QVERIFY(m_checkpoint->complete);
    }

    void parameterNamesTheSwapFile()
    {
        SelectedThing thing;
        thing.param = m_checkpoint->units.front().params.front();
        for (const std::string state : {"fp32", "exp_avg_sq"}) {
            thing.state = state;
            const Details details = detailsOf(*m_checkpoint, thing);
            const QStringList files = factsNamed(details, QStringLiteral("File"));
            QCOMPARE(files.size(), 1);
            QVERIFY(files.front().startsWith(QLatin1String("offloaded_tensors/rank00/")));
            QCOMPARE(files.front().contains(QLatin1String("/exp_avg_sq-")), state != "fp32");
        }
    }

    void rankNamesItsSwapFiles()
    {
        SelectedThing thing;
        thing.rank = 2;
        const QStringList files = factsNamed(detailsOf(*m_checkpoint, thing), QStringLiteral("Swap file"));
        QCOMPARE(files.size(), 3);
        for (const QString& file : files)
            QVERIFY(file.startsWith(QLatin1String("offloaded_tensors/rank02/")));
    }

    void swapFileIsOneRecord()
    {
        size_t seen = 0;
        for (uint32_t i = 0; i < m_checkpoint->files.size(); ++i) {
            const CheckpointFile& file = m_checkpoint->files[i];
            if (file.role != FileRole::Swap)
                continue;
            ++seen;
            const RecordList list = listRecords(io::realFileSystem(), *m_checkpoint, FileId{i}, {});
            QCOMPARE(list.problem, std::string());
            QCOMPARE(list.lines.size(), size_t{1});
            QCOMPARE(list.lines.front().record.bytes, file.identity.bytes);
            QVERIFY(list.lines.front().usedBy.find("sub-group 0") != std::string::npos);
        }
        QCOMPARE(seen, size_t{3 * 4});
    }

private:
    test::TemporaryFolder m_folder;
    CheckpointPtr m_checkpoint;
};

SHARDSCOPE_UI_TEST(TestSwapped, None)
#include "tst_swapped.moc"
