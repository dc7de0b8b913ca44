// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/model/checkpoint.h"

namespace shardscope {

struct Reading;

/// Whether the model file's ds_config has ZenFlow on: then copies may be ahead of their masters, which follow
/// later.
bool hasZenFlow(const Checkpoint& checkpoint);

/// Whether ds_config has ZenFlow on, or copies in `module` are views of columns, as only ZenFlow makes them:
/// then copies may be ahead of their masters.
bool showsZenFlow(const Reading& reading);

/// ZeRO-1/2: decides Checkpoint::zenflow. Up to DeepSpeed 0.19.6 ZenFlow stores every matrix column by
/// column; 0.19.8 still flattens them so when an engine is made, but then views the buffer row by row
/// (runtime/zero/stage_1_and_2.py, _update_model_bit16_weights), so that what it trains and saves stands in
/// rows. No key tells one from the other; a sample of masters is held against the copies that both orders
/// give them. A master is often not its copy's value, for ZenFlow changes copies between the updates of the
/// masters; but it is far nearer to its own copy than to a foreign one, and the order under which most are
/// nearer is the right one. Where that tells nothing (matrices of one value) the form of the copies does:
/// views of columns. A finding where masters contradict both ds_config and copies.
///
/// Optimizer files whose masters are near the copies in no order become Foreign, with a finding. Needs the
/// states of the units and the tensors of `module`. At depth Structure nothing is read, and the copies' form
/// is believed. Refuses by name what ZenFlow was not seen with: model-parallel ranks and experts.
void decideZenFlow(Reading& reading);

} // namespace shardscope
