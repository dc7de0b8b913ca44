// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/folder/skeleton.h"

#include "core/base/finding_codes.h"
#include "core/torchfile/skeleton/skeleton_files.h"

#include <algorithm>

namespace shardscope {

bool isSkeleton(const Checkpoint& checkpoint)
{
    return std::any_of(checkpoint.findings.begin(), checkpoint.findings.end(),
        [](const Finding& finding) { return finding.code == code::kSkeleton; });
}

void noteSkeleton(io::FileSystem& files, Checkpoint& checkpoint)
{
    if (holdsNoValues(files, checkpoint.tagFolder))
        checkpoint.findings.push_back({code::kSkeleton, Severity::Info,
            "it is a skeleton: structure without values, made for a bug report", {},
            {"the values of the client state are blanks, and checks that need values are not run"}});
}

} // namespace shardscope
