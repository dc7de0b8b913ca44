// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/report/json/json_writer.h"
#include "core/tensor/compute_choice.h"

#include <string>

namespace shardscope {

/// "compute": {device, by, reason, notes}: which device computed, and why.
void writeCompute(JsonWriter& json, const ComputeReport& compute);
/// The same in one line: "cpu (plain code)".
std::string computeText(const ComputeReport& compute);

} // namespace shardscope
