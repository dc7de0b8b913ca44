// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/io/file_system.h"
#include "core/plan/model/write_plan.h"

#include <functional>
#include <span>
#include <vector>

namespace shardscope {

/// A gathered segment (Segment::isGathered) and the memory that it fills.
struct GatheredRow {
    Segment segment;
    std::span<uint8_t> out; ///< Segment::bytes
};

/// Fills rows of matrices that the source stores column by column. Rows of one matrix that lie in one record
/// are read together, column by column, or many columns at a time where the rows are a good part of the
/// matrix: no read is shorter than what the rows have of a column. Beside them it takes as much memory as
/// they do, and at most 1 MiB more.
///
/// `elements`: of the tensor with that number in the plan. `open`: the source file with that number.
Status loadGatheredRows(std::vector<GatheredRow> rows, const std::function<uint64_t(uint32_t)>& elements,
    const std::function<Result<const io::ReadFile*>(uint32_t)>& open);

} // namespace shardscope
