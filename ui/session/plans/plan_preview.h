// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/write/execute.h"
#include "ui/session/shell_words.h"

#include <QString>

#include <optional>

namespace shardscope::ui {

/// The choices that every dialog with a plan has.
struct PlanWish {
    io::Path patternsFile; ///< empty: as the checkpoint records
    io::Path target; ///< of an export the folder that is written, else the run folder
    bool verify = true;
    bool force = false;
};

/// The result of planning, before any file is written.
struct PlanPreview {
    WritePlanPtr plan; ///< null: see `problem`
    io::Path folder; ///< to run the plan in
    std::optional<uint64_t> freeBytes; ///< there
    QString note; ///< which files in the target are replaced or removed, where it can be started
    bool resumes = false; ///< an interrupted job of this plan is continued
    std::optional<Error> problem; ///< why there is no plan, or why it cannot be started
};

/// What the paths of results are proposed from: the run folder itself; of a run on another host its name in
/// the home folder, because nothing is written there.
io::Path proposedBeside(const io::Path& run);

/// Looks at the preview's folder: whether the plan can be started there, by the rules of the run itself, and
/// what to do in the window if not; also if an earlier job has written the target. On another host, where the
/// job will run, only whether everything that it reads is there, and nothing in its way. `sourceRun`: the run
/// folder of the source. For a worker.
void examineFolder(io::FileSystem& files, const io::Path& sourceRun, const PlanWish& wish, JobContext& job,
    PlanPreview& preview);

/// Whether something that was typed is a path from a root, of this machine or another host.
bool isWholePath(const io::Path& path);

/// Completes the command line of a plan: its options, and what all plans have.
QString commandText(ShellCommand& command, const OptionFields& options, const PlanWish& wish);

} // namespace shardscope::ui
