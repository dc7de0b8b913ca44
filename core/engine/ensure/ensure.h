// SPDX-License-Identifier: Apache-2.0
#pragma once

// Folder core/engine/ensure: the checkpoint that a number of ranks can load, made once if need be. Start with
// ensureCheckpoint().

#include "core/engine/verify/run_tags.h"
#include "core/engine/write/execute.h"
#include "core/plan/reshard/reshard.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace shardscope {

struct EnsureOptions {
    uint32_t worldSize = 0;
    std::optional<int> stage = {}; ///< default: the checkpoint's
    /// The folder for copies; empty: PATH-wN, or PATH-wN-stageS where a stage is asked for, next to the run.
    io::Path into = {};
    std::optional<uint64_t> keep = {}; ///< copies to keep in that folder, at least 1; empty: all
    /// Read every byte of the folder that is the answer. Else a copy that was there already is only compared
    /// by names, sizes and times of its files.
    bool verify = false;
    std::vector<std::string> allow = {}; ///< ReshardOptions::allow
    ExecuteOptions execute = {}; ///< without destination, sourceRunFolder, force and restart
    /// Called before a tag is copied, or given as it is, that is marked: parts of it no run saved.
    std::function<void(const TagSummary& tag, const std::vector<Finding>& marks)> onMarked = {};
    /// Called with EnsureResult::warnings before a tag is copied.
    std::function<void(const std::vector<Finding>& warnings)> onPlanned = {};
    /// Chooses ExecuteOptions::compute for a plan that writes so many bytes.
    std::function<Result<ComputeChoice>(uint64_t bytes)> chooseCompute;
};

/// How the answer came about.
enum class EnsureHow : uint8_t {
    Fits, ///< the run itself loads
    Found, ///< a copy that an earlier call made, or another process meanwhile
    Made,
};
std::string_view ensureHowName(EnsureHow how); ///< "fits", "found", "made"

struct EnsureResult {
    RunTags run;
    std::vector<TagSummary> passedOver; ///< newer tags: not complete, or with values that are damaged
    std::optional<TagSummary> tag; ///< the newest complete one; none: there is nothing to load
    io::Path folder; ///< what the ranks load; empty without a tag
    EnsureHow how = EnsureHow::Fits;
    std::optional<ExecuteReport> report; ///< of a copy that was made now
    std::vector<Finding> marks; ///< of the tag, or of its copy: parts that no run saved
    std::vector<Finding> warnings; ///< of the reshard that the copy is, without marks and infos
    bool verified = false; ///< every byte of the folder was read and compared by this call
    std::vector<io::Path> removed; ///< older copies
    std::vector<std::pair<io::Path, std::string>> kept; ///< older copies that could not be removed, and why
    bool waited = false; ///< for another process
};

/// The folder that `worldSize` ranks can load of the newest complete tag of the run at `path`: the run itself
/// where `latest` names that tag and it has so many ranks (and the stage), else a verified reshard of it,
/// made once and found again. In a framework's output folder (`checkpoint-N`) it is one of the numbered
/// checkpoints, or its copy with the framework's files.
///
/// A tag whose values turn out to be damaged is passed over, too.
///
/// Any number of processes on any number of machines may call it at once: one makes the copy, the others
/// wait for it. A copy of a tag that has changed since then is replaced. Copies of older tags beyond
/// `keep` are removed, the oldest first; nothing else is (copies.h). TargetExists where a tag that is no copy
/// of this run is in the way, or where a run has saved into the folder of copies. Other errors: those of
/// tagsOf(), planReshard() and execute().
Result<EnsureResult> ensureCheckpoint(
    io::FileSystem& files, const io::Path& path, const EnsureOptions& options, JobContext& job);

} // namespace shardscope
