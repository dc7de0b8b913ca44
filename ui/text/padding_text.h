// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/model/checkpoint.h"

#include <QString>

namespace shardscope::ui {

/// A run of padding in the flat buffer that one rank has of a unit.
struct PaddingRun {
    const FlatUnit& unit;
    const UnitState& state;
    uint32_t share = 0; ///< the rank, in the unit's partition
    uint64_t offset = 0; ///< its first element, in the rank's buffer
    uint64_t elements = 0;
};

/// The run at an element of a rank's buffer; nothing if a parameter is there, or it is outside the buffer.
std::optional<PaddingRun> paddingAt(
    const FlatUnit& unit, const UnitState& state, uint32_t share, uint64_t element);

/// Why it is there: "2 elements, so that output_scale (7 elements) divides by 4 ranks".
QString paddingReason(const Checkpoint& checkpoint, const PaddingRun& run);
/// "stored in the file", "in no file", "of a missing shard".
QString paddingStorage(const PaddingRun& run);
/// "0.03 % of dp 3".
QString paddingShare(const Checkpoint& checkpoint, const PaddingRun& run);
/// All of it in one line.
QString paddingText(const Checkpoint& checkpoint, const PaddingRun& run);

} // namespace shardscope::ui
