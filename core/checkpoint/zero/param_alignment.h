// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/folder/reading_state.h"

#include <string_view>

namespace shardscope {

/// ZeRO-1/2: whether parameters start on their own boundaries (parameter_alignment). Also determines the
/// alignment of each group's parameters, in elements.
bool isParameterAligned(const Reading& reading, FileId optimFile);
uint32_t parameterAlignmentOf(const Reading& reading, std::string_view firstParam);
/// Compares the paddings in every optimizer file with those of the units. On a mismatch: noModel() or
/// Foreign.
void checkAlignmentPaddings(Reading& reading);

} // namespace shardscope
