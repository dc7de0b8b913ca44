// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/model/checkpoint.h"

namespace shardscope {

struct Reading;

/// Whether the model file's ds_config has ZenFlow on, or its order was found (Checkpoint::zenflow). Copies
/// may then be ahead of their masters, which are updated later.
bool hasZenFlow(const Checkpoint& checkpoint);

/// Whether ds_config has ZenFlow on, or copies in `module` are views of columns, which only ZenFlow makes.
/// Copies may then be ahead of their masters.
bool showsZenFlow(const Reading& reading);

/// ZeRO-1/2: decides Checkpoint::zenflow.
///
/// Up to DeepSpeed 0.19.6 ZenFlow stores every matrix column by column. 0.19.8 still flattens matrices this
/// way when an engine is created. But it then views the buffer row by row (runtime/zero/stage_1_and_2.py,
/// _update_model_bit16_weights), so it trains and saves matrices in rows. No key distinguishes the two.
///
/// A sample of masters is compared with the copies in both orders. ZenFlow changes copies between updates of
/// the masters, so a master often differs from its copy. But it is much nearer to its own copy than to
/// another one. The order with more near masters is the right one. If that does not decide (matrices of one
/// value), the form of the copies does: views of columns. Adds a finding if masters contradict both ds_config
/// and copies.
///
/// Optimizer files with masters that are near the copies in no order become Foreign, with a finding. Needs
/// the states of the units and the tensors of `module`. At depth Structure nothing is read, and the form of
/// the copies decides. Refuses model-parallel ranks and experts, which were not observed with ZenFlow.
Status decideZenFlow(Reading& reading);

} // namespace shardscope
