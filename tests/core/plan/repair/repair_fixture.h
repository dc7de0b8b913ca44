// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/plan/repair/repair.h"
#include "tests/core/plan/plan_fixture.h"
#include "tests/support/damages.h"

namespace shardscope::test {

/// A repaired copy, and the plan that it was written by.
struct Repaired {
    WritePlanPtr plan;
    CheckpointPtr copy;
};

/// Repairs the damage; the test ends if that fails.
Repaired repair(const Patchable& damaged, const RepairOptions& options,
    const std::filesystem::path& destination, const OpenOptions& open = {});
/// Findings above info in the written copy.
std::set<std::string> troublesOf(const std::filesystem::path& run, CheckDepth depth = CheckDepth::Metadata);
/// Why it is not repaired; the test ends if it is.
Error refusalOf(const Patchable& damaged, const RepairOptions& options);
/// The steps of its flat units.
std::set<double> stepsOf(const Checkpoint& checkpoint);

} // namespace shardscope::test
