// SPDX-License-Identifier: Apache-2.0
#include "core/base/finding_codes.h"
#include "core/checkpoint/folder/file_loader.h"
#include "core/doctor/check_context.h"
#include "core/doctor/finding_sink.h"

namespace shardscope::diagnosis {

namespace {

/// Files with names of state files but first bytes of another format.
Status look(const CheckContext& context, FindingSink& sink)
{
    for (const FileHeader& header : context.headers) {
        if (header.unreadable || header.bytes == 0)
            continue;
        if (const auto foreign = foreignFileFinding(header.name, header.kind))
            sink.add(foreign->severity, foreign->message, foreign->where, foreign->evidence);
    }
    return {};
}

} // namespace

/// A file in the folder that does not belong to a DeepSpeed checkpoint.
extern const Diagnosis kForeignFile;
const Diagnosis kForeignFile{
    .code = code::kForeignFile,
    .letter = "F4",
    .name = "Not a file of this checkpoint",
    .depth = CheckDepth::Headers,
    .worst = Severity::Error,
    .means = {.loading
        = "Stock DeepSpeed reads every file with the name of a state file, and fails on other content.",
        .exporting = "Tools that take all files of a folder stop."},
    .noRemedy = "the original content is not in the file; fetch the right file, or remove this one",
    .threads = "mlfoundations/task_vectors#11, lppllppl920/EndoscopyDepthEstimation-Pytorch#30",
    .look = look,
};

} // namespace shardscope::diagnosis
