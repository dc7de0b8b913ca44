// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/plan/export/export.h"
#include "ui/jobs/shell_words.h"

#include <QString>

#include <memory>
#include <optional>
#include <stop_token>

namespace shardscope::ui {

/// What the export dialog asks for.
struct ExportWish {
    ExportOptions options; ///< but for the patterns, which the planner reads, and the folder's name
    io::Path patternsFile; ///< empty: as the checkpoint records
    io::Path target; ///< the folder that is written
    bool verify = true;
    bool force = false;
};

/// What would happen, before anything does.
struct ExportPreview {
    std::shared_ptr<const ExportPlan> plan; ///< null: see `problem`
    io::Path folder; ///< that the target lies in
    std::optional<uint64_t> freeBytes; ///< there
    QString note; ///< which files in the target the export replaces or removes, where it can be started
    std::optional<Error> problem; ///< why it cannot be started
};

/// Plans, and looks at the target. For a worker thread.
ExportPreview previewExport(
    io::FileSystem& files, const CheckpointPtr& source, const ExportWish& wish, const std::stop_token& token);

/// Whether an adapter's configuration lies beside the checkpoint and is copied; else it is made.
bool takesConfigurationAlong(const ExportPlan& plan);

/// The same as a command line of `shardscope`, quoted for a shell.
QString exportCommand(const SourceWords& source, const ExportWish& wish);

} // namespace shardscope::ui
