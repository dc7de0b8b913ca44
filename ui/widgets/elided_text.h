// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QFontMetrics>
#include <QString>

namespace shardscope::ui {

/// `text` with its middle left out where it is wider than `width` pixels. In names of rank files the rank is kept:
/// "…rank_12…optim_states.pt", "…rank_12…optim_states"; files of all ranks would look the same otherwise.
QString elidedText(const QString& text, const QFontMetrics& metrics, int width);

} // namespace shardscope::ui
