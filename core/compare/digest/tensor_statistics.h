// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/job_context.h"
#include "core/base/wire.h"
#include "core/checkpoint/model/checkpoint.h"
#include "core/compute/workers.h"
#include "core/tensor/statistics.h"
#include "core/tensor/value_histogram.h"

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shardscope {

/// Where a sample of a tensor is read: runs of kSampleRunElements elements, evenly spread from the first to
/// the last element. `elements` is larger than what they have together.
inline constexpr uint64_t kSampleRunElements = 1024;
uint64_t sampleRunBegin(uint64_t elements, uint64_t runs, uint64_t run);

/// One parameter's state, by its name.
struct TensorAsked {
    ParamId param = kNoParam;
    std::string state;
};

/// Every state of every parameter, without aliases: their owners have the states.
std::vector<TensorAsked> allTensors(const Checkpoint& checkpoint);

struct TensorStatistics {
    TensorAsked tensor;
    DType dtype = DType::Unknown;
    uint64_t elements = 0; ///< of the tensor
    uint64_t missing = 0; ///< elements that could not be read
    std::optional<Error> unreadable; ///< the reason, if a whole piece is missing
    bool exact = true; ///< false: `found` is from a sample
    Statistics found;
    ValueHistogram histogram;
};

struct StatisticsRequest {
    const Checkpoint& checkpoint;
    const std::vector<TensorAsked>& tensors;
    bool exact = false; ///< otherwise large tensors are sampled
};

/// Statistics of tensors, passed on one by one in the requested order. A sample is 64 runs of 1,024 elements,
/// evenly spread; smaller tensors are read completely. Sums do not depend on the number of jobs. Memory:
/// 1 MiB and a histogram per job. Unsupported for a dtype without statistics; unreadable elements are
/// counted.
Status computeStatistics(io::FileSystem& files, const StatisticsRequest& request, const Workers& workers,
    JobContext& job, const std::function<Status(TensorStatistics)>& take);

/// What one piece of a tensor has.
struct FoundStatistics {
    Statistics statistics;
    ValueHistogram histogram;
    uint64_t missing = 0;
    std::optional<Error> firstError; ///< why a piece could not be read at all
};

/// Between processes of one job.
template <class Io>
void wire(Io& io, Wired<FoundStatistics> auto& found)
{
    auto bins = found.histogram.counts();
    io(found.statistics, found.missing, found.firstError);
    io.list(bins, UINT16_MAX + 1);
    if constexpr (Io::kReads) {
        found.histogram = {};
        for (const auto& [upperBits, count] : bins) {
            io.require(upperBits <= UINT16_MAX);
            if (io.isGood())
                found.histogram.add(upperBits, count);
        }
    }
}

/// Statistics of tensors, for another process of this version that has opened the same checkpoint.
std::string wireText(const Checkpoint& checkpoint, const std::vector<TensorStatistics>& tensors);
/// Reads them again; it can be anybody's text. Hostile if they are not of these tensors, in their order.
Result<std::vector<TensorStatistics>> statisticsFromWire(
    const Checkpoint& checkpoint, const std::vector<TensorAsked>& tensors, std::string_view text);

} // namespace shardscope
