// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QFontMetrics>
#include <QString>

namespace shardscope::ui {

/// `text`, elided in the middle if it is wider than `width` pixels. The numbers in a file name are kept,
/// because files of all ranks would look the same otherwise: "…rank_12_mp_rank_00_optim_states.pt",
/// "…rank_12_mp_rank_00…". So is the last part of a parameter's name: "…query_key_value".
QString elidedText(const QString& text, const QFontMetrics& metrics, int width);

} // namespace shardscope::ui
