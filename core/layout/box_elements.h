// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/job_context.h"
#include "core/checkpoint/model/checkpoint.h"
#include "core/io/file_system.h"
#include "core/tensor/boxes.h"

#include <functional>
#include <span>
#include <string_view>

namespace shardscope {

/// One state of a parameter, and a part of it.
struct StateBox {
    ParamId param = kNoParam;
    std::string_view state;
    Box box;
};

/// The whole tensor as a box.
Box wholeBox(const Shape& shape);

/// Passes on the elements of a box, little-endian, row by row, in pieces of at most 4 MiB. Reads no other
/// elements but those in gaps of less than a page, and those between the ones of a matrix stored column by
/// column. Usage if the box is not inside the parameter's shape; Refused if elements are missing; Cancelled,
/// and errors of the consumer. Thread-safe.
Status readBox(io::FileSystem& files, const Checkpoint& checkpoint, const StateBox& part,
    const std::function<Status(std::span<const uint8_t> bytes)>& consumer, JobContext& job);

} // namespace shardscope
