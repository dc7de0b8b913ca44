// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/cli/write_job.h"

namespace shardscope::cli {

/// The target of an export: DST itself, by its name and the folder that it lies in. A link to a folder is
/// what it leads to. Usage where DST can have no name, as `/` has none.
struct ExportPlace {
    io::Path folder;
    std::string name;
};
Result<ExportPlace> exportPlace(io::FileSystem& files, const std::string& destination);

/// Opens SRC and plans.
Result<WriteJob> planExportJob(Session& session);
/// planExport() into `destination`, with damage in the source as a refusal.
Result<WriteJob> exportJobFor(const Session& session, const CheckpointPtr& source, ExportOptions options,
    const std::string& destination);

} // namespace shardscope::cli
