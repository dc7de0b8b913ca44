// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace shardscope {

/// Why something failed. Each code has one kebab-case name and one exit code of the command line.
enum class ErrorCode {
    Usage, ///< exit 2: wrong arguments, a target inside its source
    NotFound, ///< exit 3: no such file, tag, parameter or rank
    NotACheckpoint, ///< exit 3: nothing here was written by DeepSpeed
    Unreadable, ///< exit 3: open or read failed
    Damaged, ///< exit 3: truncated, inconsistent, checksum wrong
    Hostile, ///< exit 3: malicious: bombs, overlaps, traversal
    LimitExceeded, ///< exit 3: beyond a stated limit of the reader
    Unsupported, ///< exit 4: recognised, not supported
    TargetExists, ///< exit 5
    NoSpace, ///< exit 5
    NoPermission, ///< exit 5 when writing
    WriteFailed, ///< exit 5: I/O error while writing
    Busy, ///< exit 5: another process works on the same target
    Refused, ///< exit 6: the result would be wrong
    SourceChanged, ///< exit 6: a source file changed under a running or resumed job
    VerifyFailed, ///< exit 1: what was re-read differs from what was meant
    Cancelled, ///< exit 130: its own outcome, never reported as a failure
    Internal, ///< exit 70: a bug
};

/// A failure in words: what failed, on what, why, and what to do about it.
struct Error {
    ErrorCode code = ErrorCode::Internal;
    std::string message; ///< what failed and why, one sentence, no path
    std::string path; ///< on what; empty when there is none
    std::string hint; ///< what to do; empty when nothing helps
};

std::string_view errorCodeName(ErrorCode code);
int exitCode(ErrorCode code);
/// "message: path (hint)", for logs and terminals.
std::string describe(const Error& error);

} // namespace shardscope
