// SPDX-License-Identifier: Apache-2.0
#pragma once

// Room core/checkpoint: from a path to a Checkpoint. Most rooms get the Checkpoint and do not open one. Start
// with openCheckpoint().
//
// Folder core/checkpoint/open: finds the kind of a checkpoint and calls its reader.

#include "core/base/job_context.h"
#include "core/checkpoint/folder/open_depth.h"
#include "core/checkpoint/model/checkpoint.h"

#include <map>

namespace shardscope {

struct OpenOptions {
    std::string tag; ///< empty: from PATH or from `latest`; never guessed
    std::vector<io::Path> roots; ///< further folders that hold ranks of the same tag
    OpenDepth depth = OpenDepth::Full;
    /// Whether the first of `roots` is the folder that a run with NVMe offload swapped into, possibly at
    /// another step than the checkpoint. The states come from it, everything else from the checkpoint. A
    /// finding `marked` reports which is which.
    bool salvage = false;
    /// A tag folder with *_model_states.pt files to use instead of the tag's own, when those are lost. They
    /// are of another tag of the run. Empty: use the tag's own.
    io::Path modelsFrom = {};
    /// Optimizer files with exchanged names. Maps each name to the name that has its content.
    std::map<std::string, std::string> exchanged = {};
    /// The data-parallel rank that provides the facts which all optimizer files share, if its file can be
    /// read. Else the lowest rank does.
    std::optional<uint32_t> formOf = {};
    /// The kind to open it as, if what was detected is wrong: of several kinds in one folder this one, and
    /// ZeRO-1, ZeRO-2 or BF16_Optimizer in place of each other or where no optimizer file shows a kind.
    std::optional<CheckpointKind> kind = {};
};

/// What was opened at PATH.
struct OpenedCheckpoint {
    CheckpointPtr checkpoint;
    std::string selectedFile; ///< relative name, if PATH was one file of the checkpoint
};

/// Opens PATH: a run folder (with `latest`), a tag folder, a wrapper's folder, or one file of a checkpoint.
///
/// Damaged checkpoints open with findings. `supported` and `complete` say what can be done with them. Errors:
/// NotFound, Unreadable, NotACheckpoint (no file of DeepSpeed here, or of another kind than `kind`), and
/// Hostile or Damaged if this applies to the only file.
Result<OpenedCheckpoint> openCheckpoint(
    io::FileSystem& files, const io::Path& path, const OpenOptions& options, JobContext& job);

} // namespace shardscope
