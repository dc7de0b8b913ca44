// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/ui/window_fixture.h"

#include <QFile>

namespace shardscope::ui {

/// A sample whose newest tag lacks the second rank's optimizer file; the tag before has it.
inline QString brokenSample(const WindowFixture& ui)
{
    const QString copy = copiedSample("zero2-w2", ui.folder(QStringLiteral("broken")));
    return QFile::remove(
               copy + QStringLiteral("/global_step6/bf16_zero_pp_rank_1_mp_rank_00_optim_states.pt"))
        ? copy
        : QString();
}

} // namespace shardscope::ui
