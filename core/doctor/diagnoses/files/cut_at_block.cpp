// SPDX-License-Identifier: Apache-2.0
#include "core/base/text.h"
#include "core/doctor/check_context.h"
#include "core/doctor/finding_sink.h"

namespace shardscope::diagnosis {

namespace {

constexpr uint64_t kBlockBytes = 4096;

Status look(const CheckContext& context, FindingSink& sink)
{
    for (const FileHeader& header : context.headers) {
        const bool empty = header.bytes == 0 && !header.unreadable;
        const bool cut = header.noEnd && header.bytes % kBlockBytes == 0;
        if (!empty && !cut)
            continue;
        std::vector<std::string> evidence{formatCount(header.bytes) + " bytes"};
        if (const auto space = context.files.space(context.found.tagFolder))
            evidence.push_back(formatBytes(space->freeBytes) + " are free on this disk now");
        sink.add(Severity::Warning,
            empty ? "the file is empty: the disk was full, or the save was stopped immediately"
                  : "the file ends at a disk block boundary: the disk was full, or the save was stopped",
            header.name, std::move(evidence));
    }
    return {};
}

} // namespace

/// A truncated file with a size that is zero or a multiple of 4,096 bytes.
extern const Diagnosis kCutAtBlock;
const Diagnosis kCutAtBlock{
    .code = "cut-at-block",
    .letter = "F3",
    .name = "Written to a full disk",
    .depth = CheckDepth::Headers,
    .worst = Severity::Warning,
    .means = {.loading = "torch.load stops at the file.",
        .resuming = "The files of the other ranks may be complete, or truncated at the same time."},
    .remedy = "repair the truncated file; this program reports the space that it needs before it writes",
    .threads = "zai-org/ChatGLM-6B#1166, LF#1223, hpcaitech/ColossalAI#5798",
    .look = look,
};

} // namespace shardscope::diagnosis
