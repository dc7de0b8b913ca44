// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/finding.h"
#include "ui/models/explorer_tree.h"

#include <memory>
#include <stop_token>
#include <string>
#include <unordered_map>
#include <vector>

namespace shardscope::ui {

/// Findings of the check for the lines of an Explorer's tree, without infos: for parameters, files, ranks and
/// groups, and for the modules and sections above them. Built on a worker; immutable, thread-safe.
class ExplorerMarks
{
public:
    struct Mark {
        int8_t severity = -1; ///< the worst: 1 warning, 2 error
        uint32_t here = 0; ///< findings of the line itself
        uint32_t below = 0;
        std::string first; ///< sentence of the worst of them here
    };

    /// `findings` of the tree's checkpoint. Null when stopped.
    static std::shared_ptr<const ExplorerMarks> build(const Checkpoint& checkpoint, const ExplorerTree& tree,
        const std::vector<Finding>& findings, const std::stop_token& token);

    /// The mark of a node; null if it has no findings.
    [[nodiscard]] const Mark* of(uint32_t node) const;

private:
    std::unordered_map<uint32_t, Mark> m_marks;
};

using ExplorerMarksPtr = std::shared_ptr<const ExplorerMarks>;

} // namespace shardscope::ui
