// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/job_context.h"
#include "core/layout/address.h"
#include "core/report/answers/answer.h"
#include "core/report/text/text_table.h"

#include <utility>
#include <vector>

namespace shardscope {

/// The tensor and elements that an address means.
struct ValueRange {
    ParamId param = kNoParam;
    std::string state;
    DType dtype = DType::Unknown;
    uint64_t begin = 0; ///< elements of the flattened tensor, half open
    uint64_t end = 0;
};

/// A rank or file address means the rest of the tensor from that element on. NotFound for padding and for
/// names that do not exist; Usage for a range outside the tensor.
Result<ValueRange> valueRangeOf(const Checkpoint& checkpoint, const Address& address);

/// Elements that were read. Elements of missing or damaged shards are zero and are listed in `missing`.
struct ShownValues {
    ValueRange range; ///< shortened to the limit
    bool truncated = false;
    std::vector<uint8_t> bytes; ///< little-endian elements
    std::vector<std::pair<uint64_t, uint64_t>> missing; ///< element ranges, in order
    [[nodiscard]] bool isMissing(uint64_t element) const;
};

/// Reads at most `limit` elements of a range. Unreadable if none of them can be read.
Result<ShownValues> readValues(
    io::FileSystem& files, const Checkpoint& checkpoint, ValueRange range, uint64_t limit);

/// The file that `show --npy` wrote.
struct NpyReport {
    std::string path;
    DType dtype = DType::Unknown; ///< of the file; types that NumPy lacks are converted exactly
    uint64_t bytes = 0;
};

/// The answer of `show`: the values of a tensor or of a part of it. Missing ones are null.
void writeShowJson(const TextSink& sink, const AnswerContext& context, const ShownValues& values,
    const std::optional<NpyReport>& npy);
std::string showSchema();
void writeShowText(const TextSink& sink, const TextStyle& style, const AnswerContext& context,
    const ShownValues& values, const std::optional<NpyReport>& npy);

} // namespace shardscope
