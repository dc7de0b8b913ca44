// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/plan/repair/amended.h"

#include <memory>
#include <string>
#include <vector>

namespace shardscope {

/// What a repair works on: a checkpoint, or each of its tensor slices and pipeline stages separately. Their
/// files do not depend on each other. Used by one thread.
class AmendedParts
{
public:
    /// `whole` must outlive this object.
    explicit AmendedParts(Amended& whole);

    /// Applies a fix to the parts that the findings name. Unsupported if a finding names none of them.
    Status apply(const RepairFix& fix, const std::vector<const Finding*>& findings);
    /// Sets reviewed values in all parts.
    Status set(const std::vector<std::string>& values);
    /// After all fixes: decides where lost parts come from, and merges the parts again.
    Status finish();
    /// Per part, in the form for planReshard(). Null if nothing is refilled.
    [[nodiscard]] std::vector<std::shared_ptr<Refills>> refills() const;
    /// The whole, and the parts.
    [[nodiscard]] std::vector<const Amended*> all() const;

private:
    [[nodiscard]] std::vector<Amended*> spokenOf(const Finding& finding);
    void merge();

    Amended& m_whole;
    std::vector<std::unique_ptr<Amended>> m_parts; ///< empty if the whole has no parts
};

} // namespace shardscope
