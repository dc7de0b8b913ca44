// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/folder/reading_state.h"

namespace shardscope {

/// Reads a folder that ds_to_universal.py wrote. Also finds its files.
Status readUniversal(Reading& reading);

} // namespace shardscope
