// SPDX-License-Identifier: Apache-2.0
#include "core/plan/model/marks.h"

#include "core/base/finding_codes.h"

#include <algorithm>

namespace shardscope {

namespace {

/// More than anyone reads. A later open also reads only the beginning of the manifest.
constexpr size_t kMaxMarks = 100;

} // namespace

std::vector<Finding> marksOf(const Checkpoint& source, const std::vector<std::string>& allow)
{
    std::vector<Finding> out;
    size_t count = 0;
    for (const Finding& finding : source.findings) {
        const bool mark = finding.code == code::kMarked;
        const bool allowed = (finding.severity == Severity::Error || finding.code == code::kOptionMismatch)
            && std::find(allow.begin(), allow.end(), finding.code) != allow.end();
        if ((!mark && !allowed) || ++count > kMaxMarks)
            continue;
        out.push_back({code::kMarked, Severity::Warning,
            mark ? finding.message : "written despite " + std::string(finding.code) + ": " + finding.message,
            finding.where, finding.evidence, {}, finding.parts});
    }
    if (count > kMaxMarks)
        out.push_back({code::kMarked, Severity::Warning,
            "and " + std::to_string(count - kMaxMarks) + " more that differ from what a run saved", {}, {}});
    return out;
}

} // namespace shardscope
