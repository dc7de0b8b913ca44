// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/ids.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace shardscope::ui {

/// Which parameters are meant, one byte each, index = ParamId. Null: all of them. Immutable; shared between
/// threads.
using ParamMarks = std::shared_ptr<const std::vector<uint8_t>>;

inline bool isMarked(const ParamMarks& marks, ParamId param)
{
    return !marks || index(param) >= marks->size() || (*marks)[index(param)] != 0;
}

} // namespace shardscope::ui
