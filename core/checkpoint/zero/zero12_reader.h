// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/folder/reading_state.h"

namespace shardscope {

/// Fills params, units and groups. Problems are recorded as findings, or with refuse() or noModel().
Status readZero12(Reading& reading);

} // namespace shardscope
