// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/model/checkpoint.h"

#include <QString>

namespace shardscope::ui {

/// Weights that other tools saved without an optimizer: nothing says which of them were trained.
bool hasWeightsAlone(const Checkpoint& checkpoint);
/// What a file of a checkpoint holds: "Optimizer states"; of a distributed checkpoint of PyTorch "Tensors".
QString fileRoleText(const Checkpoint& checkpoint, FileRole role);
/// "trainable", "frozen", "buffer"; "weight" where nothing says which parameters were trained.
QString paramRoleText(const Checkpoint& checkpoint, const Parameter& param);

} // namespace shardscope::ui
