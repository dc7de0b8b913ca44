// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/layout/finding_places.h"

#include <QString>

namespace shardscope::ui {

/// The findings of one place as a view shows them: without infos.
struct FindingMark {
    int severity = -1; ///< SeverityRole: the worst
    size_t count = 0;
    const Finding* first = nullptr; ///< of the worst; lives as long as the places

    /// "The file is truncated\nand 2 more", for a tool tip; empty if there are none.
    [[nodiscard]] QString text() const;
};

FindingMark markOf(const FindingPlaces& places, const FindingPlaces::Numbers& findings);

} // namespace shardscope::ui
