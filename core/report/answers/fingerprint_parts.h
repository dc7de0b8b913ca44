// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/compare/digest/state_fingerprint.h"
#include "core/report/json/json_writer.h"
#include "core/report/text/text_table.h"

namespace shardscope {

/// The field `scalars`: values that are not tensors, with their digests.
void writeScalarDigests(JsonWriter& json, const std::vector<DigestedScalar>& scalars);
/// One line per state and scalar. Long values are shortened.
void writeStateTable(const TextSink& sink, const TextStyle& style, const std::vector<StateShare>& states,
    const std::vector<DigestedScalar>& scalars);

} // namespace shardscope
