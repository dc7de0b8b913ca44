// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/finding.h"

#include <QString>

#include <vector>

namespace shardscope::ui {

/// Findings with the same message for several files or ranks, as one entry.
struct FindingGroup {
    /// "The file of rank 1, 5, 7 is missing": different numbers are listed; long lists are shortened.
    QString message;
    std::vector<const Finding*> findings; ///< in their own order; points into the input
    [[nodiscard]] const Finding& first() const { return *findings.front(); }
};

/// Worst first, otherwise in the order they were found. Two findings are alike when code and severity are the
/// same and their messages differ in numbers only.
std::vector<FindingGroup> groupFindings(const std::vector<Finding>& findings);

} // namespace shardscope::ui
