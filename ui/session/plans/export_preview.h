// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/plan/export/export.h"
#include "ui/session/shell_words.h"

#include <QString>

#include <memory>
#include <optional>
#include <stop_token>

namespace shardscope::ui {

/// The choices of the export dialog.
struct ExportWish {
    ExportOptions options; ///< except the patterns, which the planner reads, and the folder's name
    io::Path patternsFile; ///< empty: as the checkpoint records
    io::Path target; ///< the folder that is written
    bool verify = true;
    bool force = false;
};

/// The result of planning, before any file is written.
struct ExportPreview {
    WritePlanPtr plan; ///< null: see `problem`
    io::Path folder; ///< the parent folder of the target
    std::optional<uint64_t> freeBytes; ///< there
    QString note; ///< which files in the target the export replaces or removes, where it can be started
    bool resumes = false; ///< an interrupted job of this plan is continued
    std::optional<Error> problem; ///< why it cannot be started
};

/// Plans, and looks at the target. For a worker thread.
ExportPreview previewExport(
    io::FileSystem& files, const CheckpointPtr& source, const ExportWish& wish, const std::stop_token& token);

/// Whether an adapter's configuration is next to the checkpoint and is copied; else it is created.
bool takesConfigurationAlong(const WritePlan& plan);

/// The same as a command line of `shardscope`, quoted for a shell.
QString exportCommand(const SourceWords& source, const ExportWish& wish);

} // namespace shardscope::ui
