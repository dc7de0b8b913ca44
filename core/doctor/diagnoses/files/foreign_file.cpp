// SPDX-License-Identifier: Apache-2.0
#include "core/base/finding_codes.h"
#include "core/doctor/check_context.h"
#include "core/doctor/finding_sink.h"

namespace shardscope::diagnosis {

namespace {

/// State files by their names that are something else by their first bytes.
Status look(const CheckContext& context, FindingSink& sink)
{
    for (const FileHeader& header : context.headers) {
        if (header.unreadable || header.kind.torchZip || header.bytes == 0)
            continue;
        // Legacy pickles of torch begin with no name of their own: readers look at them.
        if (!header.kind.name.empty() && header.kind.refusal == ErrorCode::NotACheckpoint)
            sink.add(Severity::Error, "where a state file should be is " + std::string(header.kind.name),
                header.name,
                header.kind.hint.empty() ? std::vector<std::string>{}
                                         : std::vector<std::string>{std::string(header.kind.hint)});
    }
    return {};
}

} // namespace

/// Something in the folder that belongs to no checkpoint of DeepSpeed.
extern const Diagnosis kForeignFile;
const Diagnosis kForeignFile{
    .code = code::kForeignFile,
    .letter = "F4",
    .name = "Not a file of this checkpoint",
    .depth = CheckDepth::Headers,
    .worst = Severity::Error,
    .means = {.loading = "Stock DeepSpeed reads every file with a name of its own and fails on "
                         "others' content.",
        .exporting = "Tools that take all files of a folder stop."},
    .noRemedy = "what it should have been is not known from it; fetch the real file, or "
                "remove it",
    .threads = "mlfoundations/task_vectors#11, lppllppl920/EndoscopyDepthEstimation-"
               "Pytorch#30",
    .look = look,
};

} // namespace shardscope::diagnosis
