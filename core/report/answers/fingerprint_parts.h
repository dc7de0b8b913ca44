// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/compare/digest/state_fingerprint.h"
#include "core/report/json/json_writer.h"
#include "core/report/text/text_table.h"

namespace shardscope {

/// The field `scalars`: what is no tensor, with its digest each.
void writeScalarDigests(JsonWriter& json, const std::vector<DigestedScalar>& scalars);
/// A line per state and scalar. Long values are cut.
void writeStateTable(const TextSink& sink, const TextStyle& style, const std::vector<StateShare>& states,
    const std::vector<DigestedScalar>& scalars);

} // namespace shardscope
