// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

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

/// A change to the command that failed, for the next one to try.
struct Retry {
    enum Kind {
        Omit, ///< without the option `name`
        Add, ///< with the option `name`, and its `value` unless it is a flag
        Replace, ///< with `value` in place of the word `name`
        Run, ///< the verb `name` on the same checkpoint, if that is a whole command
        Shown, ///< none: the hint has a whole command
    };
    Kind kind = Shown;
    std::string name{};
    std::string value{};
};

/// What to do about an Error, in words and as data. The functions write both, so that they agree.
struct Hint {
    std::string text; ///< empty when nothing helps
    std::vector<Retry> retries; ///< of these, the first that fits the command is used

    Hint(std::string words = {}, std::vector<Retry> changes = {})
        : text(std::move(words))
        , retries(std::move(changes))
    {
    }
    Hint(const char* words)
        : text(words)
    {
    }

    static Hint omit(const std::string& option) { return {"omit " + option, {{Retry::Omit, option}}}; }
    static Hint add(const std::string& flag) { return {flag, {{Retry::Add, flag}}}; }
    static Hint add(const std::string& option, const std::string& value)
    {
        return {"`" + option + " " + value + "`", {{Retry::Add, option, value}}};
    }
    static Hint didYouMean(const std::string& wrong, const std::string& right)
    {
        return {"did you mean `" + right + "`?", {{Retry::Replace, wrong, right}}};
    }
    static Hint verb(const std::string& name) { return {"`" + name + "`", {{Retry::Run, name}}}; }
    /// `words` may be a verb alone.
    static Hint command(const std::string& words)
    {
        return {"`shardscope " + words + "`", {{Retry::Run, words}, {Retry::Shown}}};
    }
};

/// Both texts, and the changes of both.
Hint operator+(Hint first, const Hint& second);

/// A failure in words: what failed, on what, why, and what to do about it.
struct Error {
    ErrorCode code = ErrorCode::Internal;
    std::string message; ///< what failed and why, one sentence, no path
    std::string path; ///< on what; empty when there is none
    Hint hint{};
};

std::string_view errorCodeName(ErrorCode code);
int exitCode(ErrorCode code);
/// "message: path (hint)", for logs and terminals.
std::string describe(const Error& error);

} // namespace shardscope
