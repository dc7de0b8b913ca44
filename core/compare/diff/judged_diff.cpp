// SPDX-License-Identifier: Apache-2.0
#include "core/compare/diff/judged_diff.h"

#include "core/compare/diff/diff_places.h"
#include "core/compare/diff/same_degrees.h"

namespace shardscope {

Result<JudgedDiff> judgeDiff(
    io::FileSystem& files, const DiffPair& pair, const DiffOptions& options, JobContext& job)
{
    SHARDSCOPE_TRY(auto sides, inSameDegrees(pair.left, pair.right, pair.rules));
    JudgedDiff out;
    out.left = std::move(sides.first);
    out.right = std::move(sides.second);
    SHARDSCOPE_TRY(out.diff, diffStates(files, *out.left, *out.right, options, job));
    if (verdictOf(out.diff, false) == DiffVerdict::Same) {
        SHARDSCOPE_TRY(out.paddingDiffers, paddingDiffers(files, *pair.left, *pair.right, job));
    }
    SHARDSCOPE_TRY(out.causes, explainDiff(files, *out.left, *out.right, out.diff, job));
    out.verdict = verdictOf(out.diff, out.paddingDiffers);
    SHARDSCOPE_CHECK(job.poll()); // a read of the last elements may have been given up
    return out;
}

} // namespace shardscope
