// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/write/run_plan.h"
#include "tests/support/synthetic_plan.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>

#include <map>
#include <memory>
#include <string>

namespace shardscope::test {

/// A source, a plan for it, and a place to write to.
struct Bench {
    explicit Bench(
        const SyntheticPlan::Shape& shape = {}, TemporaryFolder::Where where = TemporaryFolder::Where::Memory)
        : folder(where)
        , plan(folder / "source", shape)
    {
    }

    [[nodiscard]] ExecuteOptions options(unsigned jobs = 2) const
    {
        ExecuteOptions out;
        out.destination = folder / "out";
        out.sourceRunFolder = plan.sourceRun();
        out.jobs = jobs;
        return out;
    }
    [[nodiscard]] std::filesystem::path destination() const { return folder / "out"; }
    [[nodiscard]] std::filesystem::path target() const { return destination() / plan.targetName; }
    [[nodiscard]] std::filesystem::path work() const
    {
        return destination() / ("." + plan.targetName + ".partial-" + plan.id);
    }

    TemporaryFolder folder;
    SyntheticPlan plan;
};

/// Everything below a folder: relative path → bytes; folders end in '/'.
std::map<std::string, std::string> treeOf(const std::filesystem::path& folder);

/// Hooks with a model from the plan's own places of elements; the fingerprint is the sum of all
/// digests.
ExecuteHooks modelHooks(const SyntheticPlan& plan);

/// The sum that modelHooks' fingerprint must give, computed from the tensors in memory.
std::string expectedFingerprint(const SyntheticPlan& plan);

Result<ExecuteReport> run(const Bench& bench, const ExecuteOptions& options);
Result<ExecuteReport> run(const Bench& bench, const ExecuteOptions& options, io::FileSystem& files);

/// The target holds exactly what the plan defines, with a manifest; DST holds latest, the script, and no work
/// folder.
void checkComplete(const Bench& bench);
/// No output was published, and no pointer.
void checkNothingCommitted(const Bench& bench);

} // namespace shardscope::test
