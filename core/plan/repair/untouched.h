// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/plan/repair/amended.h"

#include <set>
#include <string>
#include <vector>

namespace shardscope {

/// Determines which files of a repaired checkpoint's source are unchanged, so that they can be copied. A file
/// is excluded if this is not certain. Immutable once made.
class Untouched
{
public:
    /// `amended`: the whole and its parts, after all fixes.
    explicit Untouched(const std::vector<const Amended*>& amended);

    [[nodiscard]] bool contains(const std::string& name) const;

private:
    void touchOptimizer(const Amended& amended);
    void touchModel(const Amended& amended);
    void touchPlace(const Amended& amended, const Place& where);

    bool m_none = false;
    std::set<std::string> m_touched; ///< names of files
};

} // namespace shardscope
