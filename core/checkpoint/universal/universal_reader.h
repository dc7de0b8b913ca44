// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/folder/reading_state.h"

namespace shardscope {

/// A folder that ds_to_universal made; finds its files too.
Status readUniversal(Reading& reading);

} // namespace shardscope
