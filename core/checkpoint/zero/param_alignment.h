// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/folder/reading_state.h"

#include <string_view>

namespace shardscope {

/// ZeRO-1/2: whether parameters start on boundaries of their own (parameter_alignment), and on multiples of
/// how many elements those of a group do.
bool isParameterAligned(const Reading& reading, FileId optimFile);
uint32_t parameterAlignmentOf(const Reading& reading, std::string_view firstParam);
/// The paddings that every optimizer file records against those of the units: noModel() or Foreign.
void checkAlignmentPaddings(Reading& reading);

} // namespace shardscope
