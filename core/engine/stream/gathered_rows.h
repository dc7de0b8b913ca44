// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/io/file_system.h"
#include "core/plan/model/write_plan.h"

#include <functional>
#include <span>
#include <vector>

namespace shardscope {

/// A gathered segment (Segment::isGathered) and its destination memory.
struct GatheredRow {
    Segment segment;
    std::span<uint8_t> out; ///< Segment::bytes
};

/// Fills rows of matrices that the source stores column by column. Rows of one matrix in one record are read
/// together, column by column. If the rows are a large part of the matrix, many columns are read at a time.
/// No read is shorter than the rows' part of a column. Needs as much additional memory as the rows, and at
/// most 1 MiB more.
///
/// `elements`: by number of the tensor in the plan. `open`: by number of the source file.
Status loadGatheredRows(std::vector<GatheredRow> rows, const std::function<uint64_t(uint32_t)>& elements,
    const std::function<Result<const io::ReadFile*>(uint32_t)>& open);

} // namespace shardscope
