// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/plan/repair/repair.h"
#include "tests/core/plan/plan_fixture.h"
#include "tests/support/damages.h"

namespace shardscope::test {

/// A repaired copy, and the plan that it was written by.
struct Repaired {
    std::shared_ptr<const RepairPlan> plan;
    CheckpointPtr copy;
};

/// Repairs what was hurt; the test ends where that cannot be.
Repaired repair(const Patchable& hurt, const RepairOptions& options, const std::filesystem::path& destination,
    const OpenOptions& open = {});
/// What is above a note in a copy that was written.
std::set<std::string> troublesOf(const std::filesystem::path& run, CheckDepth depth = CheckDepth::Metadata);
/// Why it is not repaired; the test ends where it is.
Error refusalOf(const Patchable& hurt, const RepairOptions& options);
/// The steps of its flat units.
std::set<double> stepsOf(const Checkpoint& checkpoint);

} // namespace shardscope::test
