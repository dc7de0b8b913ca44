// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/compare/digest/partial_fingerprint.h"
#include "core/compare/digest/state_fingerprint.h"
#include "core/report/text/text_table.h"

namespace shardscope {

/// The number of elements that a state of a checkpoint has.
uint64_t expectedOf(const PartialFingerprint& fingerprint, const std::string& state);
/// One line per state and scalar. Long values are shortened.
void writeStateTable(const TextSink& sink, const TextStyle& style, const std::vector<StateShare>& states,
    const std::vector<DigestedScalar>& scalars);

} // namespace shardscope
