// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QFontMetrics>
#include <QString>

namespace shardscope::ui {

/// `text`, elided in the middle if it is wider than `width` pixels. The rank in a file name is kept, because
/// files of all ranks would look the same otherwise: "…rank_12…optim_states.pt", "…rank_12…optim_states". So
/// is the last part of a parameter's name: "…query_key_value".
QString elidedText(const QString& text, const QFontMetrics& metrics, int width);

} // namespace shardscope::ui
