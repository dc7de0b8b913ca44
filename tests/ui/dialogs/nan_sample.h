// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/ui/ui_tests.h"
#include "tests/ui/window_fixture.h"
#include "ui/pages/findings_page.h"

#include <QAbstractButton>
#include <QComboBox>
#include <QFile>
#include <QTest>

namespace shardscope::ui {

/// A sample with a NaN in the masters of rank 1, and so with a record that does not match its checksum. Empty
/// if it could not be made.
inline QString withNan(const WindowFixture& ui)
{
    using namespace Qt::StringLiterals;
    const QString run = copiedSample("zero2-w2", ui.folder(u"nan"_s));
    QFile shard(run + u"/global_step6/bf16_zero_pp_rank_1_mp_rank_00_optim_states.pt"_s);
    const bool done = shard.open(QIODevice::ReadWrite) && shard.seek(shard.size() * 3 / 4 / 64 * 64)
        && shard.write(QByteArray::fromHex("0000c07f")) == 4;
    return done ? run : QString();
}

inline void checkEveryByte(WindowFixture& ui)
{
    ui.window().showPage(PageId::Findings);
    ui.find<QComboBox>("checkDepth")->setCurrentIndex(static_cast<int>(CheckDepth::Bytes));
    ui.find<QAbstractButton>("checkStart")->click();
    QVERIFY(ui.settle());
}

} // namespace shardscope::ui
