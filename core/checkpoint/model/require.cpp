// SPDX-License-Identifier: Apache-2.0

#include "core/checkpoint/model/require.h"

#include "core/base/finding_codes.h"

#include <algorithm>

namespace shardscope {

namespace {

/// Further problems are only counted, so that the sentence stays readable.
constexpr size_t kMaxNamed = 4;

} // namespace

Status requireTag(const Checkpoint& checkpoint)
{
    const auto& why = checkpoint.modelError;
    const bool isUnreadable = why && why->code == ErrorCode::Unreadable && checkpoint.tagFolder.empty();
    if (!why || (why->code != ErrorCode::NotFound && !isUnreadable))
        return {};
    Error error = *why;
    if (!isUnreadable && !checkpoint.tags.empty()) {
        error.hint = "name a tag, such as " + Hint::add("--tag", checkpoint.tags.back());
    }
    return forward(std::move(error));
}

Status requireKnownKind(const Checkpoint& checkpoint)
{
    if (checkpoint.modelError && checkpoint.modelError->code == ErrorCode::Unsupported)
        return forward(*checkpoint.modelError);
    return {};
}

Error refusal(Error error)
{
    if (error.code == ErrorCode::Damaged || error.code == ErrorCode::Hostile)
        error.code = ErrorCode::Refused;
    return error;
}

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
        damaged && !checkpoint.modelError->hint.text.empty()
            ? checkpoint.modelError->hint
            : Hint::verb("check") + " explains them, and says which of them `repair` fixes");
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

std::vector<const Finding*> findUnreadStates(const Checkpoint& checkpoint)
{
    std::vector<const Finding*> out;
    for (const Finding& finding : checkpoint.findings) {
        if (finding.code == code::kNotSupported
            || (finding.code == code::kOptionMismatch && finding.severity != Severity::Error))
            out.push_back(&finding);
    }
    return out;
}

Status requireAllStates(const Checkpoint& checkpoint, const std::vector<std::string>& allow)
{
    for (const Finding* finding : findUnreadStates(checkpoint)) {
        const std::string folder
            = (checkpoint.tagFolder.empty() ? checkpoint.runFolder : checkpoint.tagFolder).string();
        if (finding->code == code::kNotSupported)
            return fail(ErrorCode::Unsupported, finding->message, folder,
                "`export` writes the weights alone; " + Hint::verb("inspect") + " shows the findings");
        if (std::find(allow.begin(), allow.end(), finding->code) == allow.end())
            return fail(ErrorCode::Refused,
                finding->message
                    + (finding->evidence.empty() ? std::string() : " (" + finding->evidence.front() + ")"),
                folder,
                "--allow option-mismatch takes the first rank's for all; `export` does not need them");
    }
    return {};
}

} // namespace shardscope
