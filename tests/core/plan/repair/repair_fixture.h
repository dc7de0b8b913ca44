// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/plan/repair/repair.h"
#include "tests/core/plan/plan_fixture.h"
#include "tests/support/wounds.h"

namespace shardscope::test {

/// A mended copy, and the plan that it was written by.
struct Mended {
    std::shared_ptr<const RepairPlan> plan;
    CheckpointPtr copy;
};

/// Mends what was hurt; the test ends where that cannot be.
Mended mend(const Patchable& hurt, const RepairOptions& options, const std::filesystem::path& destination,
    const OpenOptions& open = {});
/// What is above a note in a copy that was written.
std::set<std::string> troublesOf(const std::filesystem::path& run, CheckDepth depth = CheckDepth::Metadata);
/// Why it is not mended; the test ends where it is.
Error refusalOf(const Patchable& hurt, const RepairOptions& options);
/// The steps of its flat units.
std::set<double> stepsOf(const Checkpoint& checkpoint);

} // namespace shardscope::test
