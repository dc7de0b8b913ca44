// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/plan/export/export.h"

#include <string>

namespace shardscope {

/// The target of an export: DST itself, by its name and its parent folder.
struct ExportPlace {
    io::Path folder;
    std::string name;
};

/// Follows a link to a folder. Usage if DST has no name, for example `/`.
Result<ExportPlace> exportPlace(io::FileSystem& files, const io::Path& destination);

/// planExport() with DST as its target; `options.folderName` is set here.
struct PlacedExport {
    WritePlanPtr plan;
    io::Path folder; ///< the parent folder of DST
};
Result<PlacedExport> planExportTo(io::FileSystem& files, const CheckpointPtr& source, ExportOptions options,
    const io::Path& destination, JobContext& job);

} // namespace shardscope
