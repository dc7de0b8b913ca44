// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/wire.h"
#include "core/tensor/statistics.h"
#include "core/tensor/value_histogram.h"

#include <optional>

namespace shardscope {

/// What one piece of a tensor has.
struct FoundStatistics {
    Statistics statistics;
    ValueHistogram histogram;
    uint64_t missing = 0;
    std::optional<Error> firstError; ///< why a piece could not be read at all
};

/// Between processes of one job.
void writeFound(WireWriter& out, const FoundStatistics& found);
FoundStatistics readFound(WireReader& in);

} // namespace shardscope
