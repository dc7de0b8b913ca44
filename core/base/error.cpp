// SPDX-License-Identifier: Apache-2.0
#include "core/base/error.h"

namespace shardscope {

namespace {

struct CodeRow {
    ErrorCode code;
    std::string_view name;
    int exit;
};

constexpr CodeRow kRows[] = {
    {ErrorCode::Usage, "usage", 2},
    {ErrorCode::NotFound, "not-found", 3},
    {ErrorCode::NotACheckpoint, "not-a-checkpoint", 3},
    {ErrorCode::Unreadable, "unreadable", 3},
    {ErrorCode::Damaged, "damaged", 3},
    {ErrorCode::Hostile, "hostile", 3},
    {ErrorCode::LimitExceeded, "limit-exceeded", 3},
    {ErrorCode::Unsupported, "unsupported", 4},
    {ErrorCode::TargetExists, "target-exists", 5},
    {ErrorCode::NoSpace, "no-space", 5},
    {ErrorCode::NoPermission, "no-permission", 5},
    {ErrorCode::WriteFailed, "write-failed", 5},
    {ErrorCode::Busy, "busy", 5},
    {ErrorCode::Refused, "refused", 6},
    {ErrorCode::SourceChanged, "source-changed", 6},
    {ErrorCode::VerifyFailed, "verify-failed", 1},
    {ErrorCode::Cancelled, "cancelled", 130},
    {ErrorCode::Internal, "internal", 70},
};

const CodeRow& rowOf(ErrorCode code)
{
    for (const CodeRow& row : kRows) {
        if (row.code == code)
            return row;
    }
    return kRows[std::size(kRows) - 1];
}

} // namespace

Hint operator+(Hint first, const Hint& second)
{
    first.text += second.text;
    first.retries.insert(first.retries.end(), second.retries.begin(), second.retries.end());
    return first;
}

std::string_view errorCodeName(ErrorCode code)
{
    return rowOf(code).name;
}

int exitCode(ErrorCode code)
{
    return rowOf(code).exit;
}

std::string describe(const Error& error)
{
    std::string out = error.message;
    if (!error.path.empty())
        out += ": " + error.path;
    if (!error.hint.text.empty())
        out += " (" + error.hint.text + ")";
    return out;
}

} // namespace shardscope
