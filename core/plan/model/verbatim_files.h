// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/job_context.h"
#include "core/checkpoint/model/checkpoint.h"
#include "core/plan/model/write_plan.h"

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace shardscope {

/// Output files of another plan that are byte-for-byte copies of its source's files, instead of the plan's
/// own layout of the same elements. The plan still knows which bytes belong to which tensor, so that they are
/// digested and verified like any others. Immutable once made; thread-safe.
class VerbatimFiles
{
public:
    /// `mayBe`: by name, whether the file's content stays unchanged. Such a file is copied if all its planned
    /// elements are read from the checkpoint's file of the same name.
    static Result<VerbatimFiles> of(const WritePlan& plan, const Checkpoint& checkpoint,
        const std::function<bool(const std::string& name)>& mayBe, JobContext& job);

    /// The plan's sources. Each copied file has one more record that covers all its bytes.
    [[nodiscard]] const std::vector<PlanSource>& sources() const { return m_sources; }
    /// `file`: index into the plan's files().
    [[nodiscard]] bool contains(size_t file) const { return m_sourceOf.contains(file); }
    [[nodiscard]] uint32_t source(size_t file) const { return m_sourceOf.at(file); }
    [[nodiscard]] uint64_t bytes(size_t file) const;
    /// The source's file, marked with the elements that the plan's `recipe` for it moves.
    [[nodiscard]] Result<OutputFile> recipe(size_t file, const OutputFile& recipe) const;

private:
    std::vector<PlanSource> m_sources;
    std::map<size_t, uint32_t> m_sourceOf; ///< file → source
};

} // namespace shardscope
