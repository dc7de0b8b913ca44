// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/finding.h"

#include <QString>

#include <vector>

namespace shardscope::ui {

/// Findings with the same message for several files, ranks or states, as one entry.
struct FindingGroup {
    /// "The file of rank 1, 5, 7 is missing": what differs is listed; long lists are shortened.
    QString message;
    std::vector<const Finding*> findings; ///< in their own order; points into the input
    [[nodiscard]] const Finding& first() const { return *findings.front(); }
};

/// In which places findings are alike.
enum class AlikeIn {
    One, ///< in the same place only
    All, ///< in all places, if the names in their messages are the same
};

/// Worst first, otherwise in the order they were found. Two findings are alike when code and severity are the
/// same and their messages differ only in numbers, shapes and quoted names.
std::vector<FindingGroup> groupFindings(const std::vector<const Finding*>& findings, AlikeIn places);
std::vector<FindingGroup> groupFindings(const std::vector<Finding>& findings); ///< in all places

} // namespace shardscope::ui
