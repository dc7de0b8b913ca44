// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/cli/jobs/write_job.h"

namespace shardscope::cli {

/// Opens SRC and plans.
Result<WriteJob> planExportJob(Session& session);
/// planExport() into `destination`; damage in the source becomes a refusal.
Result<WriteJob> exportJobFor(const Session& session, const CheckpointPtr& source, ExportOptions options,
    const std::string& destination);

} // namespace shardscope::cli
