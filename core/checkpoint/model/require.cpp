// SPDX-License-Identifier: Apache-2.0

#include "core/checkpoint/model/require.h"

#include "core/base/finding_codes.h"

#include <algorithm>

namespace shardscope {

namespace {

/// Further problems are only counted, so that the sentence stays readable.
constexpr size_t kMaxNamed = 4;

} // namespace

Status requireModel(const Checkpoint& checkpoint)
{
    if (checkpoint.modelError)
        return forward(*checkpoint.modelError);
    return {};
}

Status requireComplete(const Checkpoint& checkpoint, const std::vector<std::string>& allow)
{
    const bool damaged = checkpoint.modelError && checkpoint.modelError->code != ErrorCode::Unsupported
        && checkpoint.modelError->code != ErrorCode::NotFound;
    if (!damaged)
        SHARDSCOPE_CHECK(requireModel(checkpoint));
    if (!checkpoint.fullyRead && !damaged)
        return fail(ErrorCode::Refused, "not every file has been read yet", checkpoint.tagFolder.string());
    std::string names;
    size_t problems = 0;
    for (const Finding& finding : checkpoint.findings) {
        if (finding.severity != Severity::Error
            || std::find(allow.begin(), allow.end(), finding.code) != allow.end())
            continue;
        if (++problems > kMaxNamed)
            continue;
        names += (names.empty() ? "" : "; ") + std::string(finding.code) + ": " + finding.where.text() + " – "
            + finding.message;
        if (!finding.evidence.empty())
            names += " (" + finding.evidence.front() + ")";
    }
    // A finding that may be allowed does not create a missing model.
    if (damaged && names.find(checkpoint.modelError->message) == std::string::npos)
        names = checkpoint.modelError->message + (names.empty() ? "" : "; ") + names;
    if (names.empty())
        return {};
    if (problems > kMaxNamed)
        names += "; and " + std::to_string(problems - kMaxNamed) + " more";
    return fail(ErrorCode::Refused, "what is missing or damaged would make the result wrong: " + names,
        (checkpoint.tagFolder.empty() ? checkpoint.runFolder : checkpoint.tagFolder).string(),
        damaged && !checkpoint.modelError->hint.empty() ? checkpoint.modelError->hint
                                                        : "`inspect` shows the findings with their evidence");
}

bool lacksOptimizer(const Checkpoint& checkpoint)
{
    return !checkpoint.modelError
        && std::any_of(checkpoint.findings.begin(), checkpoint.findings.end(),
            [](const Finding& finding) { return finding.code == code::kOptimizerMissing; });
}

const io::Path& ownFolderOf(const Checkpoint& checkpoint)
{
    const bool alone = !checkpoint.latest && checkpoint.tags.size() < 2 && checkpoint.wrapper.empty()
        && !checkpoint.tagFolder.empty();
    return hasNoRunFolder(checkpoint.kind) || alone ? checkpoint.tagFolder : checkpoint.runFolder;
}

} // namespace shardscope
