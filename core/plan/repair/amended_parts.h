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
    /// `whole` outlives it.
    explicit AmendedParts(Amended& whole);

    /// Applies a fix to the parts that the findings name. Unsupported where a finding names none of them.
    Status apply(const RepairFix& fix, const std::vector<const Finding*>& findings);
    /// Sets reviewed values in all of them.
    Status set(const std::vector<std::string>& values);
    /// After all fixes: decides where lost parts come from, and puts the whole together again.
    Status finish();
    /// Per part, as planReshard() takes them; null where nothing is refilled.
    [[nodiscard]] std::vector<std::shared_ptr<Refills>> refills() const;
    /// The whole, and the parts.
    [[nodiscard]] std::vector<const Amended*> all() const;

private:
    [[nodiscard]] std::vector<Amended*> spokenOf(const Finding& finding);
    void join();

    Amended& m_whole;
    std::vector<std::unique_ptr<Amended>> m_parts; ///< empty where the whole is all
};

} // namespace shardscope
