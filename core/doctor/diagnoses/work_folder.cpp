// SPDX-License-Identifier: Apache-2.0
#include "core/base/finding_codes.h"
#include "core/doctor/diagnosis.h"

namespace shardscope::diagnosis {

/// A job was interrupted, or is still running, and its work folder or unfinished file is there.
extern const Diagnosis kWorkFolder;
const Diagnosis kWorkFolder{
    .code = code::kWorkFolder,
    .name = "Unfinished work of a job",
    .depth = CheckDepth::Metadata,
    .worst = Severity::Error,
    .means = {.loading = "Stock DeepSpeed ignores it. Where the files of an export were being moved into "
                         "place, the folder holds files of two exports."},
    .noRemedy = "the command that was interrupted continues it; `shardscope clean` lists such folders, and "
                "removes them with --remove",
};

} // namespace shardscope::diagnosis
