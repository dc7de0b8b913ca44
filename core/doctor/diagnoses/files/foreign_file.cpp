// SPDX-License-Identifier: Apache-2.0
#include "core/base/finding_codes.h"
#include "core/doctor/check_context.h"
#include "core/doctor/finding_sink.h"

namespace shardscope::diagnosis {

namespace {

/// Files with names of state files but first bytes of another format.
Status look(const CheckContext& context, FindingSink& sink)
{
    for (const FileHeader& header : context.headers) {
        if (header.unreadable || header.kind.torchZip || header.bytes == 0)
            continue;
        // torch's legacy pickles have no magic bytes: readers check them.
        if (!header.kind.name.empty() && header.kind.refusal == ErrorCode::NotACheckpoint)
            sink.add(Severity::Error,
                "the file has the name of a state file but is " + std::string(header.kind.name), header.name,
                header.kind.hint.empty() ? std::vector<std::string>{}
                                         : std::vector<std::string>{std::string(header.kind.hint)});
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
