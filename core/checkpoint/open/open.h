// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/job_context.h"
#include "core/checkpoint/model/checkpoint.h"
#include "core/checkpoint/model/open_depth.h"

#include <map>

namespace shardscope {

struct OpenOptions {
    std::string tag; ///< empty: from PATH or from `latest`; never guessed
    std::vector<io::Path> roots; ///< further folders that hold ranks of the same tag
    OpenDepth depth = OpenDepth::Full;
    /// The first of `roots` is the folder that a run with NVMe offload swapped into, of another step than the
    /// checkpoint: its states are taken, all else is the checkpoint's, and a finding `marked` tells which.
    bool salvage = false;
    /// A tag folder whose *_model_states.pt files count in place of the tag's own: those of another tag of
    /// the run, where the own ones are lost. Empty: the own ones.
    io::Path modelsFrom = {};
    /// Optimizer files whose names were exchanged: by the name of each, the name that its content lies under.
    std::map<std::string, std::string> exchanged = {};
    /// The data-parallel rank whose optimizer file tells what all of them have alike, where it can be read;
    /// the lowest one otherwise.
    std::optional<uint32_t> formOf = {};
};

/// What PATH turned out to be.
struct OpenedCheckpoint {
    CheckpointPtr checkpoint;
    std::string selectedFile; ///< relative name, when PATH was one file of the checkpoint
};

/// Opens whatever PATH is: a run folder (with `latest`), a tag folder, a wrapper's folder, or one file of a
/// checkpoint.
///
/// Broken checkpoints open, with findings; `supported` and `complete` say what can be done. Errors: NotFound,
/// Unreadable, NotACheckpoint (nothing of DeepSpeed's here), Hostile or Damaged when the only file is.
Result<OpenedCheckpoint> openCheckpoint(
    io::FileSystem& files, const io::Path& path, const OpenOptions& options, JobContext& job);

} // namespace shardscope
