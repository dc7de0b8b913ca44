// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/compare/digest/tensor_statistics.h"
#include "core/compute/compute_choice.h"
#include "ui/tensorview/tensor_source.h"

#include <QString>
#include <QStringList>

#include <optional>
#include <stop_token>
#include <utility>
#include <vector>

namespace shardscope::ui {

/// Position of the first element that is not finite.
struct FirstOdd {
    std::optional<uint64_t> nan;
    std::optional<uint64_t> infinite;
};

/// All facts about a tensor's values that are known so far.
struct TensorFindings {
    TensorStatistics statistics;
    ComputeReport compute; ///< how they were computed
    FirstOdd first;
    QString copies; ///< compareCopies(), or notLookedFor()
    std::optional<Error> error; ///< why there are no statistics
};

/// Reads from the first element on, a MiB at a time, until the first match. For a worker.
FirstOdd findFirstOdd(
    io::FileSystem& files, const TensorSource& source, bool nan, bool infinite, const std::stop_token& token);

/// The same parameter on other tensor slices and pipeline stages. Empty if the checkpoint has only one of it.
std::vector<TensorSourcePtr> copiesOf(const TensorSource& source);

/// Compares with those of the same shape and type, byte by byte. "Identical to tp 1: all 12 elements were
/// compared." Empty if there is none, or if all differ, as slices of a matrix do. For a worker.
QString compareCopies(io::FileSystem& files, const TensorSource& source, const std::stop_token& token);

/// What is not known of a tensor whose values stay on another host, since it needs all of them here. "Not
/// looked for: the first NaN. The values are on node7." Empty if nothing is missing.
QString notLookedFor(const TensorSource& source, const TensorStatistics& statistics);

/// Name and value of every statistic, with "≈" before values of a sample.
std::vector<std::pair<QString, QString>> statisticFacts(const TensorStatistics& statistics);

/// Anomalies in words: "12 NaN, first at [3, 17]", "all zeros". Empty if there are none.
QStringList healthWords(const TensorSource& source, const TensorFindings& findings);

} // namespace shardscope::ui
