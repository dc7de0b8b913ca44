// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/layout/finding_places.h"
#include "ui/models/explorer_tree.h"

#include <memory>
#include <stop_token>
#include <vector>

namespace shardscope::ui {

/// Findings for the lines of an Explorer's tree, without infos: for parameters, files, ranks and groups, and
/// for the modules and sections above them. Built on a worker; immutable, thread-safe.
class ExplorerMarks
{
public:
    struct Mark {
        int8_t severity = -1; ///< the worst: 1 warning, 2 error
        uint32_t here = 0; ///< findings of the line itself
        uint32_t below = 0; ///< findings of lines below it, each once
        uint32_t first = 0; ///< number of the worst of them here
    };

    /// `places` are of the tree's checkpoint. Null when stopped.
    static std::shared_ptr<const ExplorerMarks> build(
        FindingPlacesPtr places, const ExplorerTree& tree, const std::stop_token& token);

    /// The mark of a node; null if it has no findings.
    [[nodiscard]] const Mark* of(uint32_t node) const;
    [[nodiscard]] const Finding& first(const Mark& mark) const { return m_places->findings()[mark.first]; }

private:
    friend class ExplorerMarker;
    FindingPlacesPtr m_places;
    std::vector<Mark> m_marks; ///< by node
};

using ExplorerMarksPtr = std::shared_ptr<const ExplorerMarks>;

} // namespace shardscope::ui
